package otelhooks_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/otelhooks"
)

// play makes the call of a row and checks what the caller gets.
func (r row) play(t *testing.T, opts ...otelhooks.Option) *fixture {
	t.Helper()
	stack := r.stack() // also what happened before
	f := newFixture(t, opts...)
	p := f.stack(stack...)
	ctx := t.Context()
	if r.ctx != nil {
		var cancel context.CancelFunc
		ctx, cancel = r.ctx(ctx)
		defer cancel()
	}
	fn := r.fn
	if fn == nil {
		fn = func(context.Context) error {
			t.Error("the operation was called")
			return nil
		}
	}
	if e := run(func() error { return p.Do(ctx, fn) }); !r.ends(e) {
		t.Errorf("the call ended with %+v", e)
	}
	time.Sleep(time.Minute) // whatever still runs ends
	return f
}

func TestStatusOfEachOutcome(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := r.play(t)
				if r.want == "" {
					if got := f.tree(); got != "" {
						t.Errorf("got\n%s\nwant no span", got)
					}
					return
				}
				f.wantTree(t, r.want)
			})
		})
	}
}

func TestAResultThatIsUnwantedIsAFailureOfTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		p := f.stack(attempts(2))
		got, err := stoic.Get(t.Context(), p, func(context.Context) (int, error) { return 503, nil },
			stoic.FailIf(func(int) error { return errBusy }))
		if got != 503 || err != nil {
			t.Errorf("the caller gets %d, %v", got, err)
		}
		f.wantTree(t, `
			payments 0s..1s error "503 Service Unavailable" error.type="503" stoic.call.attempts=2 stoic.retry.stop_reason="max_attempts"
			  attempt payments #1 0s..0s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			  attempt payments #2 1s..1s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true stoic.retry.delay=1.0`)
	})
}
