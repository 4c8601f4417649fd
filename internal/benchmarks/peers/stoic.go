package peers

import (
	"context"

	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

func stoicContender() Contender {
	return Contender{Name: Stoic, Modules: []string{"github.com/stoic-go/stoic"}, Build: buildStoic}
}

func buildStoic(stack Stack, s Settings) Run {
	layers := stoicLayers(stack, s)
	if s.Listen != nil {
		layers = append([]stoic.Policy{stoic.Observe(stoicListener{heard: s.Listen})}, layers...)
	}
	return stoic.MustNew("p", layers...).Do
}

func stoicLayers(stack Stack, s Settings) []stoic.Policy {
	retries := retry.New(retry.MaxAttempts(s.Attempts), retry.FullJitter(s.Base, s.Max))
	breaks := breaker.New("b", breaker.ConsecutiveFailures(s.InARow),
		breaker.FailureRate(s.Rate, s.MinCalls, s.Window), breaker.OpenFor(s.OpenFor))
	limits := ratelimit.New(rate.Limit(s.perSecond()), s.Limit)
	total := deadline.New(s.Total)
	spends := budget.New(budget.Ratio(s.Ratio), budget.Window(s.Window),
		budget.MinPerSecond(float64(s.Spare)/s.Window.Seconds()))
	switch stack {
	case Retry:
		return []stoic.Policy{retries}
	case Breaker:
		return []stoic.Policy{breaks}
	case Limiter:
		return []stoic.Policy{limits}
	case Deadline:
		return []stoic.Policy{total}
	case Three:
		return []stoic.Policy{total, retries, breaks}
	case Four:
		return []stoic.Policy{spends, retries, breaks, limits}
	case Full:
		return []stoic.Policy{total, spends, retries, breaks, limits, deadline.New(s.Each)}
	default:
		return nil
	}
}

// stoicListener is hooks.Nop that also hears events, as the listeners of the others do.
type stoicListener struct {
	hooks.Nop
	heard func()
}

func (l stoicListener) Event(context.Context, hooks.Event) { l.heard() }
