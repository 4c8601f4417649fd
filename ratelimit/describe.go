package ratelimit

import (
	"errors"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
)

// Describe implements stoic.Describer.
func (l *Limiter) Describe() stoic.Description {
	d := stoic.Description{Kind: stoic.KindRateLimit}
	if l.limiter == nil {
		return d
	}
	var limit any = float64(l.limiter.Limit())
	if l.limiter.Limit() == rate.Inf {
		limit = "unlimited"
	}
	d.Params = []stoic.Param{{Name: "per second", Value: limit}, {Name: "burst", Value: l.limiter.Burst()}}
	if l.maxWait > 0 {
		d.Params = append(d.Params, stoic.Param{Name: "max wait", Value: l.maxWait})
	}
	if l.limiter.Limit() == rate.Inf {
		return d // it never waits and never refuses
	}
	if l.maxWait > 0 {
		d.Waits = []time.Duration{l.maxWait}
	}
	d.Refusal = limited(0)
	return d
}

// Identity implements stoic.Identifier: the bucket is the state.
func (l *Limiter) Identity() any {
	if l.limiter == nil {
		return nil
	}
	return l.limiter
}

// Validate implements stoic.Validator.
func (l *Limiter) Validate() error {
	if l.limiter == nil {
		return &stoic.InvalidError{Field: "Limiter", Value: "nil", Reason: "must be made by ratelimit.New, or by From with a limiter"}
	}
	errs := []error{l.problems.Err()}
	limit, burst := l.limiter.Limit(), l.limiter.Burst()
	switch f := float64(limit); {
	case limit == rate.Inf:
		return errors.Join(errs...)
	case math.IsNaN(f) || math.IsInf(f, 0) || f <= 0:
		errs = append(errs, &stoic.InvalidError{
			Field: "limit", Value: f, Reason: "must be a positive, finite number of calls a second; rate.Inf is no limit",
		})
	}
	if burst < 1 {
		errs = append(errs, &stoic.InvalidError{
			Field: "burst", Value: burst, Reason: "must be at least 1, or no call could ever pass",
		})
	}
	return errors.Join(errs...)
}
