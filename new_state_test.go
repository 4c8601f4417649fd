package stoic_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// validated is a third-party layer whose Validate returns err.
type validated struct{ err error }

func (validated) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }
func (v validated) Validate() error                              { return v.err }

func TestNewReportsWhatAThirdPartyLayerSays(t *testing.T) {
	const here = "payments: layer 1 (stoic_test.validated): "
	size := &stoic.InvalidError{Field: "Size", Value: 0, Reason: "must be positive"}
	tests := []struct {
		name string
		err  error
		want []string
	}{
		{"nothing", nil, nil},
		{"nothing joined", errors.Join(nil, nil), nil},
		{"a plain error", errors.New("no queue"), []string{here + "no queue"}},
		{"an InvalidError", size, []string{here + "Size(0): must be positive"}},
		{"one that claims another place", &stoic.InvalidError{Pipeline: "x", Layer: 7, Policy: "y", Reason: "bad"}, []string{here + "bad"}},
		{"one that is wrapped", fmt.Errorf("bulkhead: %w", size), []string{here + "Size(0): must be positive"}},
		{"a join", errors.Join(size, errors.New("no queue")), []string{here + "Size(0): must be positive", here + "no queue"}},
		{
			"joins in a join", errors.Join(errors.Join(errors.New("a"), nil), errors.Join(size, errors.Join(errors.New("b")))),
			[]string{here + "a", here + "Size(0): must be positive", here + "b"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := stoic.New("payments", validated{tt.err})
			if tt.want == nil {
				if err != nil {
					t.Errorf("got %v, want nil", err)
				}
				return
			}
			var got []string
			for _, e := range mistakes(t, err) {
				got = append(got, e.Error())
			}
			wantLines(t, got, tt.want)
		})
	}
	if size.Pipeline != "" || size.Layer != 0 {
		t.Errorf("New changed the layer's own error: %+v", size)
	}
}

// identified is a third-party layer with an identity.
type identified struct{ id any }

func (identified) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }
func (i identified) Identity() any                                { return i.id }

func TestNewRefusesTheSameStateTwice(t *testing.T) {
	b, l, bu := breaker.New("db"), ratelimit.New(1, 1), budget.New()
	bucket := rate.NewLimiter(1, 1)
	nested := stoic.MustNew("nested", b)
	deeper := stoic.MustNew("deeper", nested)
	r, d := retry.New(), deadline.New(time.Second)
	tests := []struct {
		name   string
		layers []stoic.Policy
		layer  int    // of the mistake; 0: none
		policy string // its label
	}{
		{"breaker", []stoic.Policy{b, d, b}, 3, `breaker "db"`},
		{"limiter", []stoic.Policy{l, l}, 2, "ratelimit"},
		{"limiters of one bucket", []stoic.Policy{ratelimit.From(bucket), ratelimit.From(bucket)}, 2, "ratelimit"},
		{"budget", []stoic.Policy{bu, r, bu, r}, 3, "budget"},
		{"breaker in a nested pipeline", []stoic.Policy{b, nested}, 2, `breaker "db" of nested`},
		{"breaker in a deeper one", []stoic.Policy{deeper, d, b}, 3, `breaker "db"`},
		{"breaker in a deeper one, below", []stoic.Policy{b, deeper}, 2, `breaker "db" of nested`},
		{"pipeline twice", []stoic.Policy{nested, nested}, 2, `breaker "db" of nested`},
		{"third party", []stoic.Policy{identified{"x"}, identified{"y"}, identified{"x"}}, 3, "stoic_test.identified"},
		{"other breaker of the same name", []stoic.Policy{b, breaker.New("db")}, 0, ""},
		{"policies without state", []stoic.Policy{d, r, d, r}, 0, ""},
		{"no identity", []stoic.Policy{identified{nil}, identified{nil}}, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := stoic.New("payments", tt.layers...)
			if tt.layer == 0 {
				if err != nil {
					t.Errorf("got %v, want nil", err)
				}
				return
			}
			if got := mistakes(t, err); len(got) != 1 || got[0].Layer != tt.layer || got[0].Policy != tt.policy {
				t.Errorf("got %v, want one mistake, of layer %d (%s)", err, tt.layer, tt.policy)
			}
		})
	}
}

func TestNewRefusesAnIdentityThatCannotBeCompared(t *testing.T) {
	tests := []struct {
		name string
		id   any
	}{
		{"type", []int{1}},
		{"value of a comparable type", [1]any{[]int{1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			if v := panicOf(func() { _, err = stoic.New("payments", identified{tt.id}, identified{tt.id}) }); v != nil {
				t.Fatalf("New panics: %v", v)
			}
			got := mistakes(t, err)
			if len(got) != 2 || got[0].Layer != 1 || got[0].Field != "Identity" || got[1].Layer != 2 {
				t.Errorf("got %v, want a mistake of each layer", err)
			}
		})
	}
}
