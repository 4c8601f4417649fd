package otelhooks_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stoic-go/stoic"
)

// As documented: a layer that answers by itself counts as an attempt, inside a retry and
// where there is none inside it. Only a rejection does not.
func TestALayerThatAnswersByItselfCountsAsAnAttempt(t *testing.T) {
	answers := func(err error) stoic.Policy {
		return stoic.PolicyFunc("cache", func(context.Context, stoic.Next) error { return err })
	}
	tests := map[string]struct {
		layers []stoic.Policy
		want   string
	}{
		"inside the retry": {
			layers: []stoic.Policy{attempts(2), answers(nil)},
			want: `
				payments 0s..0s unset stoic.call.attempts=1
				  attempt payments #1 0s..0s unset`,
		},
		"outside the retry": {
			layers: []stoic.Policy{answers(nil), attempts(2)},
			want:   `payments 0s..0s unset stoic.call.attempts=1`,
		},
		"with a failure": {
			layers: []stoic.Policy{answers(errBusy), attempts(2)},
			want:   `payments 0s..0s error "503 Service Unavailable" error.type="503" stoic.call.attempts=1`,
		},
		"with a rejection that is joined": {
			layers: []stoic.Policy{answers(errors.Join(&stoic.Rejection{Policy: "bulkhead", Reason: "full", Err: errBoom, Type: "bulkhead_full"})), attempts(2)},
			want:   `payments 0s..0s error "bulkhead: full: the client did not send this call" error.type="bulkhead_full" stoic.call.attempts=0`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				_ = f.stack(tt.layers...).Do(t.Context(), func(context.Context) error {
					t.Error("the operation was called")
					return nil
				})
				f.wantTree(t, tt.want)
			})
		})
	}
}
