package otelhooks_test

import (
	"context"
	"errors"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/retry"
)

// A program gives its own provider, or sets the global one; here the spans are kept in
// memory to be printed.
func ExampleNew() {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))

	hook, err := otelhooks.New(otelhooks.WithTracerProvider(provider))
	if err != nil {
		fmt.Println(err)
		return
	}
	payments := stoic.MustNew("payments",
		stoic.Observe(hook), // outermost
		retry.New(retry.Constant(0)),
	)

	ctx := stoic.WithOperation(context.Background(), "charge")
	err = payments.Do(ctx, func(ctx context.Context) error {
		if stoic.Attempt(ctx) == 1 {
			return errors.New("connection reset")
		}
		return nil
	})
	fmt.Println("error:", err)

	for _, s := range spans.GetSpans() {
		fmt.Printf("%s: %s\n", s.Name, s.Status.Code)
	}
	// Output:
	// error: <nil>
	// attempt charge: Error
	// attempt charge: Unset
	// charge: Unset
}
