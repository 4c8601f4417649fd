package otelhooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/retry"
)

const secretURL = "https://user:s3cr3t@api.example/pay?token=hunter2#hunter2"

func TestC58_SpansAndLogsTellNoSecrets(t *testing.T) {
	get := &url.Error{Op: "Get", URL: secretURL, Err: errors.New("503 Service Unavailable")}
	tests := []struct {
		name string
		fn   stoic.Func
		want string // of the place that may be told
	}{
		{"error", func(context.Context) error { return get }, "https://api.example/pay"},
		{"wrapped error", func(context.Context) error { return fmt.Errorf("charge: %w", get) }, "https://api.example/pay"},
		{"permanent error", func(context.Context) error { return retry.Permanent(get) }, "https://api.example/pay"},
		{"ErrorType", func(context.Context) error { return &saidError{"boom", secretURL} }, "boom"},
		{"panic with an error", func(context.Context) error { panic(get) }, "https://api.example/pay"},
		{"panic with a text", func(context.Context) error { panic("cannot reach " + secretURL) }, "https://api.example/pay"},
		{"panic with another value", func(context.Context) error { panic(struct{ u string }{secretURL}) }, ""},
		{"cause of a cancellation", func(ctx context.Context) error {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(get)
			return stoic.ContextError(ctx)
		}, "https://api.example/pay"},
		{"rejection", func(context.Context) error {
			return &stoic.Rejection{Policy: "bulkhead", Reason: "full: " + secretURL, Type: secretURL}
		}, "https://api.example/pay"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, otelhooks.WithDetailedMetrics())
				var log bytes.Buffer
				lines := hooks.Slog(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
				p := stoic.MustNew("payments", stoic.Observe(hooks.Join(f, lines)), deadline.New(1500*time.Millisecond), attempts(3))
				run(func() error { return p.Do(t.Context(), tt.fn) })
				all := map[string]string{"spans": f.tree(), "logs": log.String(), "metrics": fmt.Sprintf("%+v", f.metrics())}
				for where, text := range all {
					for _, secret := range []string{"s3cr3t", "hunter2"} {
						if strings.Contains(text, secret) {
							t.Errorf("the %s tell %q:\n%s", where, secret, text)
						}
					}
				}
				if !strings.Contains(all["spans"], tt.want) {
					t.Errorf("the spans do not tell %q:\n%s", tt.want, all["spans"])
				}
			})
		})
	}
}
