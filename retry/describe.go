package retry

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/stoic-go/stoic"
)

// Describe implements stoic.Describer.
func (r *Retry) Describe() stoic.Description {
	var attempts any = r.maxAttempts
	if r.maxAttempts == math.MaxInt {
		attempts = "unlimited"
	}
	d := stoic.Description{
		Kind:      stoic.KindRetry,
		Params:    []stoic.Param{{Name: "attempts", Value: attempts}},
		MaxRuns:   r.maxAttempts,
		OnlyFirst: !r.allowNested,
		MaxHint:   r.maxRetryAfter,
	}
	if j, ok := r.backoff.(jittered); ok {
		d.Params = append(d.Params,
			stoic.Param{Name: "backoff", Value: j.kind.String()},
			stoic.Param{Name: "base", Value: j.base},
			stoic.Param{Name: "max", Value: j.ceiling})
	} else {
		d.Params = append(d.Params, stoic.Param{Name: "backoff", Value: fmt.Sprintf("%T", r.backoff)})
	}
	d.Params = append(d.Params,
		stoic.Param{Name: "max retry after", Value: r.maxRetryAfter},
		stoic.Param{Name: "allow nested", Value: r.allowNested})
	d.Waits, d.Opaque = r.waits()
	return d
}

// maxWaits is how many waits are listed: doubling has reached any ceiling by then.
const maxWaits = 65

// waits are the ceilings of the backoff, the first attempt's 0 in front. They are not
// known for a Backoff that has no Ceiling, nor all of them for one of the user's that
// may still grow after those listed.
func (r *Retry) waits() (waits []time.Duration, unknown bool) {
	ceiling, ok := r.backoff.(interface{ Ceiling(n int) time.Duration })
	if !ok {
		return nil, r.maxAttempts > 1
	}
	waits = []time.Duration{0}
	for n := range min(r.maxAttempts-1, maxWaits) {
		waits = append(waits, max(0, ceiling.Ceiling(n)))
	}
	_, ours := r.backoff.(jittered)
	return waits, !ours && r.maxAttempts-1 > maxWaits
}

// Retries reports whether the retry would make another attempt after err, if it had
// attempts, time and budget left and the caller's context were not done.
func (r *Retry) Retries(err error) bool {
	if err == nil {
		return false
	}
	l := loop{Retry: r}
	return l.notWorth(context.Background(), err) == ""
}

// Validate implements stoic.Validator.
func (r *Retry) Validate() error {
	if !r.made {
		return &stoic.InvalidError{Field: "Retry{}", Reason: "must be made by retry.New"}
	}
	return r.problems.Err()
}
