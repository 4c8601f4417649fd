package otelhooks_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/otelhooks"
)

func TestInvalidOptions(t *testing.T) {
	tests := []struct {
		name string
		opts []otelhooks.Option
		want []string
	}{
		{"unspecified kind", []otelhooks.Option{otelhooks.WithAttemptSpanKind(trace.SpanKindUnspecified)}, []string{"WithAttemptSpanKind(0)"}},
		{"unknown kind", []otelhooks.Option{otelhooks.WithAttemptSpanKind(99)}, []string{"WithAttemptSpanKind(99)"}},
		{"negative kind", []otelhooks.Option{otelhooks.WithAttemptSpanKind(-1)}, []string{"WithAttemptSpanKind(-1)"}},
		{"nil option", []otelhooks.Option{nil}, []string{"Option", "nil"}},
		{"two mistakes", []otelhooks.Option{nil, otelhooks.WithAttemptSpanKind(6)}, []string{"Option", "WithAttemptSpanKind(6)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := otelhooks.New(tt.opts...)
			if h != nil || !errors.Is(err, stoic.ErrInvalid) {
				t.Fatalf("got %v, %v, want no hook and ErrInvalid", h, err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestOfTheSameOptionTheLastCounts(t *testing.T) {
	f := newFixture(t, otelhooks.WithAttemptSpanKind(99), otelhooks.WithAttemptSpanKind(trace.SpanKindClient))
	if err := f.stack(attempts(1)).Do(t.Context(), takes(nil)); err != nil {
		t.Fatal(err)
	}
	if got := f.spans.Ended()[0].SpanKind(); got != trace.SpanKindClient {
		t.Errorf("the attempt is %v, want client", got)
	}
}

// Without messages a status says that something failed, and error.type what.
func TestWithoutErrorMessages(t *testing.T) {
	for _, r := range rows() {
		if r.want == "" {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := r.play(t, otelhooks.WithoutErrorMessages())
				var want []string
				for _, line := range strings.Split(unindent(r.want), "\n") {
					want = append(want, withoutMessage(line))
				}
				f.wantTree(t, strings.Join(want, "\n"))
			})
		})
	}
}

// withoutMessage takes the text after "error" out of a line of a tree.
func withoutMessage(line string) string {
	before, rest, ok := strings.Cut(line, ` error "`)
	if !ok {
		return line
	}
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			return before + " error" + rest[i+1:]
		}
	}
	return line
}
