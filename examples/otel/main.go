// Otel sends what a full stack does to OpenTelemetry while the server fails on a script.
// It prints the first trace of each kind as a tree, and then answers the five questions
// of docs/telemetry.md from the metrics. It ends by itself after five seconds.
//
//	go run ./examples/otel
//	go run ./examples/otel -json   # the same telemetry, from OpenTelemetry's stdout exporters
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// README: begin

func newStack(tracers trace.TracerProvider, meters metric.MeterProvider) (*stoic.Pipeline, error) {
	hook, err := otelhooks.New( // without options: the global providers, the default metrics
		otelhooks.WithTracerProvider(tracers),
		otelhooks.WithMeterProvider(meters),
		otelhooks.WithDetailedMetrics(),
	)
	if err != nil {
		return nil, err
	}
	return stoic.New("payments",
		stoic.Observe(hook), // outermost: a span for the call, and one for each attempt
		deadline.New(2*time.Second),
		budget.New(),
		retry.New(retry.FullJitter(50*time.Millisecond, time.Second)),
		breaker.New("payments", breaker.OpenFor(time.Second)),
		ratelimit.New(ratelimit.Per(100, time.Second), 20),
		deadline.New(200*time.Millisecond),
	)
}

// README: end

var script = []phase{
	{name: "healthy", mode: healthy, lasts: 700 * time.Millisecond},
	{name: "30 % get 503", mode: flaky, lasts: 1600 * time.Millisecond},
	{name: "hangs", mode: hanging, lasts: 1200 * time.Millisecond},
	{name: "healthy again", mode: healthy, lasts: 1500 * time.Millisecond},
}

func main() {
	asJSON := flag.Bool("json", false, "print with the stdout exporters of OpenTelemetry")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, script, *asJSON)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "otel:", err)
		os.Exit(1)
	}
}

// run plays the script, with workers calling all the time, and prints to w. It ends
// early when ctx is done.
func run(ctx context.Context, w io.Writer, script []phase, asJSON bool) (err error) {
	server, err := newServer()
	if err != nil {
		return err
	}
	defer server.close()

	to, err := newOutput(w, script, asJSON)
	if err != nil {
		return err
	}
	tracers, meters := to.providers()
	defer func() { // exports what is left, also when ctx is done
		rest := context.WithoutCancel(ctx)
		err = errors.Join(err, tracers.Shutdown(rest), meters.Shutdown(rest))
	}()
	stack, err := newStack(tracers, meters)
	if err != nil {
		return err
	}

	// At the end of the script no further call begins, and those that run may finish.
	playing, stop := context.WithCancel(ctx)
	defer stop()
	finished := startWorkers(ctx, playing, newClient(stack, server.url()))
	for i, p := range script {
		if i > 0 {
			to.endPhase(ctx, meters)
		}
		to.beginPhase(p)
		server.enter(p.mode)
		if !wait(playing, p.lasts) {
			break
		}
	}
	stop()
	finished()
	return nil
}
