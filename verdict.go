package stoic

import (
	"context"
	"errors"
)

// Verdict is what a layer learns from the outcome of what is inside it.
type Verdict uint8

// The verdicts. The zero value is none of them.
const (
	Success Verdict = iota + 1
	Failure
	Neutral // says nothing about the dependency: counted nowhere
)

// String returns "success", "failure" or "neutral".
func (v Verdict) String() string {
	switch v {
	case Success:
		return "success"
	case Failure:
		return "failure"
	case Neutral:
		return "neutral"
	default:
		return "no verdict"
	}
}

// VerdictOf is the one rule by which all layers judge err, the outcome of what is
// inside them. ctx is the context that came into the layer, not one that it made.
//
//   - Success: err is nil, first of all (a result in hand of a cancelled caller
//     is a success), or [Benign] marks it as an answer.
//   - Neutral: the caller cancelled (ctx.Err() is [context.Canceled]; the error
//     value proves nothing), or a layer further in refused ([ErrRejected]).
//   - Failure: any other error, deadlines included, whoever set them.
//
// A panic and [runtime.Goexit] are failures; there is no error to judge then.
func VerdictOf(ctx context.Context, err error) Verdict {
	switch {
	case err == nil || isBenign(err):
		return Success
	case errors.Is(ctx.Err(), context.Canceled), errors.Is(err, ErrRejected):
		return Neutral
	default:
		return Failure
	}
}

// Benign makes errors that are answers (no rows, a 404) successes for every layer
// outside it: they are not retried, do not trip a breaker, and reach the caller
// unchanged. Put it innermost. is must be safe for concurrent use; nil is invalid.
//
// A layer in between may see the error wrapped: use errors.Is and errors.As there,
// as everywhere.
func Benign(is func(error) bool) Policy { return &benign{is: is} }

type benign struct{ is func(error) bool }

func (b *benign) Run(ctx context.Context, next Next) error {
	if b.is == nil {
		return b.Validate()
	}
	err := next.Do(ctx)
	if err != nil && !isBenign(err) && b.is(err) {
		return &benignError{err: err}
	}
	return err
}

func (b *benign) Describe() Description { return Description{Kind: KindBenign} }

func (b *benign) Validate() error {
	if b.is == nil {
		return &InvalidError{Field: "Benign", Value: "nil", Reason: "needs a function that tells which errors are answers"}
	}
	return nil
}

// benignError carries the mark from the Benign layer to Pipeline.Do, which takes
// it off.
type benignError struct{ err error }

func (e *benignError) Error() string { return e.err.Error() }
func (e *benignError) Unwrap() error { return e.err }

func isBenign(err error) bool {
	_, ok := errors.AsType[*benignError](err)
	return ok
}

func unmark(err error) error {
	//nolint:errorlint // a mark below another error stays: that error is the caller's to unwrap
	if b, ok := err.(*benignError); ok {
		return b.err
	}
	return err
}
