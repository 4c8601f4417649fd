package stoic

import (
	"fmt"
	"slices"
	"strings"
)

// Code names a kind of finding. Codes are stable: tests and suppressions may hold on
// to them.
type Code string

// The codes, with what they find. Errors are refused by [New]; the others are found by
// [Pipeline.Vet].
const (
	CodeBudgetWithoutRetry       Code = "budget-without-retry"         // error: a budget that no retry draws on
	CodeDuplicateLayer           Code = "duplicate-layer"              // error: one stateful value twice
	CodeBreakerOutsideRetry      Code = "breaker-outside-retry"        // info: failures count once per call
	CodeBreakerWindowSmall       Code = "breaker-window-small"         // warn: trips on noise
	CodeDeadlinePerAttemptOnly   Code = "deadline-per-attempt-only"    // warn: a retry with no deadline outside it
	CodeDeadlineTotalOnly        Code = "deadline-total-only"          // warn: a retry with no deadline inside it
	CodeAttemptNotBelowTotal     Code = "attempt-not-below-total"      // warn: an attempt may use up the call
	CodeBackoffExceedsDeadline   Code = "backoff-exceeds-deadline"     // warn: the waits alone pass the deadline
	CodeRetryWithoutBudget       Code = "retry-without-budget"         // warn: an outage multiplies the load
	CodeRetryWithoutJitter       Code = "retry-without-jitter"         // warn: clients come back together
	CodeNestedRetry              Code = "nested-retry"                 // warn: attempts add up or multiply
	CodeRetryOfRejections        Code = "retry-of-rejections"          // warn: the loop spins on a refusal
	CodeLimiterOutsideRetry      Code = "limiter-outside-retry"        // info: retries do not spend the limit
	CodeLimiterWaitInsideAttempt Code = "limiter-wait-inside-deadline" // info: waiting spends the attempt's time
	CodeBreakerOutsideLimiter    Code = "breaker-outside-limiter"      // info: refusals of the limit are no failures
	CodeOpaqueLayer              Code = "opaque-layer"                 // info: the numbers are lower bounds
)

// Level is how bad a finding is.
type Level uint8

// The levels.
const (
	LevelInfo  Level = iota + 1 // worth knowing
	LevelWarn                   // hurts in an outage
	LevelError                  // cannot work; New refuses it
)

// String returns "info", "warn" or "error".
func (l Level) String() string {
	switch l {
	case LevelInfo:
		return "info"
	case LevelWarn:
		return "warn"
	case LevelError:
		return "error"
	default:
		return "unknown"
	}
}

// MarshalText writes the level as its string.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Finding is one thing about the order or the numbers of a stack that is worth a
// change, or worth knowing.
type Finding struct {
	Code   Code   `json:"code"`
	Level  Level  `json:"level"`
	Layers []int  `json:"layers"` // the layers it is about, counted from 1, outermost first
	Where  string `json:"where"`  // the same in words: "layer 2 (retry)"
	Reason string `json:"reason"` // why it matters, with the numbers of this stack
	Fix    string `json:"fix"`
}

// String is one line: "warn retry-without-budget: layer 2 (retry): … Fix: …".
func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s: %s Fix: %s", f.Level, f.Code, f.Where, f.Reason, f.Fix)
}

// Findings are what [Pipeline.Vet] found. They print one to a line.
type Findings []Finding

// String is the findings, one to a line, each after a line break.
func (fs Findings) String() string {
	var b strings.Builder
	for _, f := range fs {
		b.WriteString("\n")
		b.WriteString(f.String())
	}
	return b.String()
}

// Vet finds what is known to hurt in the order and the numbers of the stack, worst
// first, but for the codes to ignore. It is for a test beside the stack:
//
//	if findings := payments.Vet(); len(findings) > 0 {
//		t.Fatal(findings)
//	}
//
// What New refuses is not found here: such a stack does not exist.
func (p *Pipeline) Vet(ignore ...Code) Findings {
	var fs Findings
	s := p.stack()
	for _, rule := range vetRules {
		for _, f := range rule(s) {
			if !slices.Contains(ignore, f.Code) {
				fs = append(fs, f)
			}
		}
	}
	slices.SortStableFunc(fs, func(a, b Finding) int { return int(b.Level) - int(a.Level) })
	return fs
}

// finding fills in where it is. at are positions, counted from 0.
func (s stack) finding(code Code, level Level, reason, fix string, at ...int) Finding {
	f := Finding{Code: code, Level: level, Reason: reason, Fix: fix}
	var where []string
	for _, i := range at {
		f.Layers = append(f.Layers, i+1)
		where = append(where, fmt.Sprintf("layer %d (%s)", i+1, s[i].label()))
	}
	f.Where = strings.Join(where, ", ")
	return f
}
