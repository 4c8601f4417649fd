package stackfile

import (
	"strconv"
	"strings"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/cmd/stoic/internal/source"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
	"golang.org/x/time/rate"
)

// policy makes one layer. The schema has checked names, types and units; numbers that
// have no meaning are left to stoic.New.
func policy(kind string, options *source.Node) (stoic.Policy, error) {
	switch kind {
	case "deadline":
		return deadline.New(options.Duration()), nil
	case "budget":
		return budget.New(budgetOptions(options)...), nil
	case "retry":
		opts, err := retryOptions(options)
		if err != nil {
			return nil, err
		}
		return retry.New(opts...), nil
	case "breaker":
		return breaker.New(options.Get("name").Text(), breakerOptions(options)...), nil
	case "ratelimit":
		return limiter(options)
	default:
		return nil, options.Errorf("%q is no layer", kind)
	}
}

func budgetOptions(n *source.Node) []budget.Option {
	var opts []budget.Option
	if v := n.Get("ratio"); v != nil {
		opts = append(opts, budget.Ratio(v.Float()))
	}
	if v := n.Get("min_per_second"); v != nil {
		opts = append(opts, budget.MinPerSecond(v.Float()))
	}
	if v := n.Get("window"); v != nil {
		opts = append(opts, budget.Window(v.Duration()))
	}
	return opts
}

func retryOptions(n *source.Node) ([]retry.Option, error) {
	opts, err := backoff(n)
	if err != nil {
		return nil, err
	}
	if v := n.Get("max_attempts"); v.Text() == "unlimited" {
		opts = append(opts, retry.Unlimited())
	} else if v != nil {
		opts = append(opts, retry.MaxAttempts(v.Int()))
	}
	if v := n.Get("max_retry_after"); v != nil {
		opts = append(opts, retry.MaxRetryAfter(v.Duration()))
	}
	if n.Get("if").Text() == "any" {
		opts = append(opts, retry.If(func(error) bool { return true }))
	}
	if n.Get("allow_nested").True() {
		opts = append(opts, retry.AllowNested())
	}
	return opts, nil
}

// backoffs are the options that set the backoff of a retry.
func backoff(n *source.Node) ([]retry.Option, error) {
	jitters := []struct {
		name   string
		option func(base, ceiling time.Duration) retry.Option
	}{
		{"full_jitter", retry.FullJitter},
		{"equal_jitter", retry.EqualJitter},
		{"decorrelated_jitter", retry.DecorrelatedJitter},
		{"no_jitter", retry.NoJitter},
		{"constant", func(d, _ time.Duration) retry.Option { return retry.Constant(d) }},
	}
	var opts []retry.Option
	first := ""
	for _, j := range jitters {
		v := n.Get(j.name)
		if v == nil {
			continue
		}
		if first != "" {
			return nil, v.Errorf("%s is there too, expected one backoff", first)
		}
		first = j.name
		base, ceiling := v.Duration(), v.Duration()
		if v.IsMapping() {
			base, ceiling = v.Get("base").Duration(), v.Get("max").Duration()
		}
		opts = append(opts, j.option(base, ceiling))
	}
	return opts, nil
}

func breakerOptions(n *source.Node) []breaker.Option {
	var opts []breaker.Option
	if v := n.Get("failure_rate"); v != nil {
		opts = append(opts, breaker.FailureRate(v.Get("ratio").Float(), v.Get("min_calls").Int(), v.Get("window").Duration()))
	}
	if v := n.Get("failure_rate_of_last"); v != nil {
		opts = append(opts, breaker.FailureRateOfLast(v.Get("ratio").Float(), v.Get("calls").Int()))
	}
	if v := n.Get("consecutive_failures"); v != nil {
		opts = append(opts, breaker.ConsecutiveFailures(v.Int()))
	}
	if v := n.Get("open_for"); v != nil {
		opts = append(opts, breaker.OpenFor(v.Duration()))
	}
	if v := n.Get("probes"); v != nil {
		opts = append(opts, breaker.Probes(v.Int()))
	}
	if v := n.Get("probe_timeout"); v != nil {
		opts = append(opts, breaker.ProbeTimeout(v.Duration()))
	}
	if v := n.Get("slow_call"); v != nil {
		opts = append(opts, breaker.SlowCall(v.Duration()))
	}
	return opts
}

func limiter(n *source.Node) (stoic.Policy, error) {
	limit, err := limitOf(n.Get("limit"))
	if err != nil {
		return nil, err
	}
	if limit != rate.Inf && !n.Has("burst") {
		return nil, n.Errorf(`"burst" is missing, expected a whole number of at least 1`)
	}
	var opts []ratelimit.Option
	if v := n.Get("wait"); v != nil {
		if v.Duration() <= 0 {
			return nil, v.Errorf("got %s, expected a duration above 0; leave it out to refuse at once", v)
		}
		opts = append(opts, ratelimit.Wait(v.Duration()))
	}
	return ratelimit.New(limit, n.Get("burst").Int(), opts...), nil
}

// limitOf reads 100/s.
func limitOf(n *source.Node) (rate.Limit, error) {
	if n.Text() == "unlimited" {
		return rate.Inf, nil
	}
	calls, unit, _ := strings.Cut(n.Text(), "/")
	count, err := strconv.ParseFloat(calls, 64)
	if err != nil || count <= 0 {
		return 0, n.Errorf("got %s, expected a number of calls above 0; for no limit write unlimited", n)
	}
	seconds := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	return rate.Limit(count / seconds), nil
}
