package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// output is where the telemetry of a run goes.
type output struct {
	traces   sdktrace.SpanExporter
	metrics  sdkmetric.Exporter
	headline io.Writer // nil: phases are not shown
}

func newOutput(w io.Writer, script []phase, asJSON bool) (output, error) {
	if asJSON {
		return stdout(w)
	}
	return readable(w, script), nil
}

// readable prints trees and a table.
func readable(w io.Writer, script []phase) output {
	w = &lockedWriter{w: w}
	fmt.Fprintf(w, "%d workers charge orders while the server fails on a script. This is the first trace of each kind. A line is a\n", workers)
	fmt.Fprintln(w, "span: its name, when it began and how long it took in ms, its status, its attributes (without their prefix \"stoic.\").")
	return output{tree{w}, &answers{w: w, script: script}, w}
}

// stdout prints JSON, with the exporters that OpenTelemetry has for that.
func stdout(w io.Writer) (output, error) {
	traces, err := stdouttrace.New(stdouttrace.WithWriter(w), stdouttrace.WithPrettyPrint(), stdouttrace.WithoutTimestamps())
	if err != nil {
		return output{}, err
	}
	metrics, err := stdoutmetric.New(stdoutmetric.WithWriter(w), stdoutmetric.WithPrettyPrint(), stdoutmetric.WithoutTimestamps())
	return output{traces: traces, metrics: metrics}, err
}

// providers are what a program makes when it starts. It would have a batch processor
// where this one exports a span as soon as it ended, and a sampler where this one picks.
func (o output) providers() (*sdktrace.TracerProvider, *sdkmetric.MeterProvider) {
	service := resource.NewSchemaless(semconv.ServiceName("shop"))
	tracers := sdktrace.NewTracerProvider(sdktrace.WithResource(service), sdktrace.WithSyncer(newPicker(o.traces)))
	// The reader collects every minute, which is longer than a run: when it is flushed or shut down.
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithResource(service), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(o.metrics)))
	return tracers, meters
}

func (o output) beginPhase(p phase) {
	if o.headline != nil {
		fmt.Fprintf(o.headline, "\n------ SERVER %s ------\n", p.says())
	}
}

// endPhase makes a column of the table. The stdout exporter prints once, at the end.
func (o output) endPhase(ctx context.Context, meters *sdkmetric.MeterProvider) {
	if o.headline == nil {
		return
	}
	if err := meters.ForceFlush(ctx); err != nil {
		otel.Handle(err)
	}
}

// lockedWriter lets traces and headlines be written at the same time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
