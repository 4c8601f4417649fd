package otelhooks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/retry"
)

func TestC55_APanicEndsTheSpansAsErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		var got any
		func() {
			defer func() { got = recover() }()
			_ = f.stack(attempts(3)).Do(t.Context(), func(context.Context) error { panic(errBoom) })
		}()
		if got != errBoom { //nolint:errorlint // the value is unchanged
			t.Errorf("the caller recovers %v, want the value that was thrown", got)
		}
		for _, s := range f.spans.Ended() {
			if len(s.Events()) != 0 {
				t.Errorf("span %s has the events %v, want no exception", s.Name(), s.Events())
			}
		}
		f.wantTree(t, `
			payments 0s..0s error "boom" error.type="panic" stoic.call.attempts=1
			  attempt payments #1 0s..0s error "boom" error.type="panic"`)
	})
}

// trouble is a hook that panics or exits in one place.
type trouble struct {
	at   string
	exit bool
}

func (h trouble) here(at string) {
	switch {
	case at != h.at:
	case h.exit:
		runtime.Goexit()
	default:
		panic("trouble")
	}
}

func (h trouble) Start(ctx context.Context, op hooks.Op) context.Context {
	h.here("start " + op.Kind.String())
	return ctx
}

func (h trouble) End(_ context.Context, op hooks.Op, _ hooks.Result) {
	h.here("end " + op.Kind.String())
}

func (h trouble) Event(_ context.Context, e hooks.Event) { h.here(e.Kind.String()) }

// The fixture checks at the end of each test that every span has ended; the recorder that
// a hook beside ours gets its Start and End in pairs.
func TestNoSpanStaysOpenWhenAHookBesidePanics(t *testing.T) {
	for _, at := range []string{"start call", "start attempt", "end call", "end attempt", "retry", "gave_up"} {
		for _, exit := range []bool{false, true} {
			for _, first := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s exit=%t first=%t", at, exit, first), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f := newFixture(t)
						var rec hookstest.Recorder
						all := []hooks.Hook{f, &rec, trouble{at, exit}}
						if first {
							all = []hooks.Hook{trouble{at, exit}, &rec, f}
						}
						p := stoic.MustNew("payments", stoic.Observe(hooks.Join(all...)), attempts(2))
						e := run(func() error { return p.Do(t.Context(), takes(errBusy)) })
						if exit && !e.exited || !exit && e.panicked != "trouble" {
							t.Errorf("the call ended with %+v", e)
						}
						if err := rec.Check(); err != nil {
							t.Error(err)
						}
						if started, ended := len(f.spans.Started()), len(f.spans.Ended()); started != ended {
							t.Errorf("%d spans began, %d ended", started, ended)
						}
						f.agrees(t)
					})
				})
			}
		}
	}
}

func TestSpansWhenAHookBesidePanicsAtTheStartOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		p := stoic.MustNew("payments", stoic.Observe(hooks.Join(f, trouble{at: "start attempt"})), attempts(2))
		run(func() error { return p.Do(t.Context(), takes(errBusy)) })
		f.wantTree(t, `
			payments 0s..0s error "trouble" error.type="panic" stoic.call.attempts=1
			  attempt payments #1 0s..0s error "trouble" error.type="panic"`)
	})
}

// strange is an error whose methods fail.
type strange struct{ in string }

func (e *strange) here(in string) {
	if e.in == in {
		panic("no " + in)
	}
}

func (e *strange) Error() string     { e.here("Error"); return "strange" }
func (e *strange) ErrorType() string { e.here("ErrorType"); return "strange" }
func (e *strange) Is(error) bool     { e.here("Is"); return false }
func (e *strange) As(any) bool       { e.here("As"); return false }
func (e *strange) Unwrap() error     { e.here("Unwrap"); return nil }

// An error whose methods panic ends in a panic of the stack, or in none, but never in a
// span that stays open or in a panic that the stack alone does not make.
func TestErrorsWhoseMethodsPanic(t *testing.T) {
	for _, in := range []string{"Error", "ErrorType", "Is", "As", "Unwrap"} {
		for _, canceled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s canceled=%t", in, canceled), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					do := func(observe stoic.Policy) end {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						return run(func() error {
							return stoic.MustNew("payments", observe).Do(ctx, func(context.Context) error {
								if canceled {
									cancel()
								}
								return &strange{in}
							})
						})
					}
					f := newFixture(t)
					alone, observed := do(stoic.Observe(hooks.Nop{})), do(stoic.Observe(f))
					if alone.panicked != observed.panicked || alone.exited != observed.exited {
						t.Errorf("with the hook the call ends with %v, without it with %v", observed.panicked, alone.panicked)
					}
					if n := len(f.spans.Ended()); n != 1 {
						t.Errorf("%d spans have ended, want 1", n)
					}
				})
			})
		}
	}
}

// A retry whose sleep panics has announced an attempt that does not come.
func TestPanicInTheSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		sleep := retry.Sleep(func(context.Context, time.Duration) error { panic(errors.New("asleep")) })
		run(func() error { return f.stack(attempts(2, sleep)).Do(t.Context(), takes(errBusy)) })
		f.wantTree(t, `
			payments 0s..100ms error "asleep" error.type="panic" stoic.call.attempts=1
			  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true`)
	})
}
