package otelhooks

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/internal/redact"
)

// Hook sends what stacks do to OpenTelemetry. One Hook serves any number of pipelines,
// and is safe for concurrent use. It keeps a reference to each breaker of the pipelines
// that it observes, and with [WithDetailedMetrics] to each budget, and reports them as long
// as it lives: make stacks once. Make it with [New]; the zero value must not be used.
type Hook struct {
	config
	instruments

	tracer   trace.Tracer // nil: spans are off
	types    *errorTypes
	series   cache[seriesKey, *series]
	rest     *series // for what has no place in series
	refusals cache[refusalKey, []metric.AddOption]
	waits    cache[waitKey, []metric.RecordOption]
	breakers breakers
	budgets  budgets
}

var (
	_ hooks.Hook     = (*Hook)(nil)
	_ hooks.Attacher = (*Hook)(nil)
)

// New makes a hook for stoic.Observe. An invalid option is an error that matches
// stoic.ErrInvalid, and no hook. When the meter provider refuses an instrument, New returns
// its error and a hook that works without that instrument.
func New(opts ...Option) (*Hook, error) {
	c := newConfig(opts)
	if err := c.err(); err != nil {
		return nil, err
	}
	h := &Hook{config: c, types: newErrorTypes()}
	h.rest = newSeries(seriesKey{other, other}, c.attemptKind)
	if _, off := c.tracers.(noop.TracerProvider); !off {
		h.tracer = c.tracers.Tracer(ScopeName, trace.WithInstrumentationVersion(Version), trace.WithSchemaURL(semconv.SchemaURL))
	}
	meter := c.meters.Meter(ScopeName, metric.WithInstrumentationVersion(Version), metric.WithSchemaURL(semconv.SchemaURL))
	var made error
	h.instruments, made = newInstruments(meter, c.detailed)
	return h, errors.Join(made, h.register(meter))
}

// Attach is called by stoic.New. It makes the series of the breakers, so that they exist
// before the first trip.
func (h *Hook) Attach(pipeline string, layers []hooks.LayerInfo) {
	h.seriesOf(pipeline, pipeline) // has its place, whatever names of operations come later
	for _, l := range layers {
		switch l.Kind {
		case stoic.KindBreaker:
			h.attachBreaker(pipeline, l)
		case stoic.KindBudget:
			h.attachBudget(pipeline, l)
		}
	}
}

// Start begins a span, and makes the context of what is inside it.
func (h *Hook) Start(ctx context.Context, op hooks.Op) context.Context {
	o := &operation{Context: ctx, hook: h, series: h.seriesOf(op.Pipeline, op.Operation)}
	var delay time.Duration
	waited := false
	if op.Kind == hooks.KindAttempt {
		o.number = op.Attempt
		o.parent = h.operationOf(ctx)
		delay, waited = o.parent.begin(op.Attempt)
	}
	if h.tracer == nil {
		return o
	}
	name, start := o.series.callName, o.series.callStart
	if op.Kind == hooks.KindAttempt {
		name, start = o.series.attemptName, o.series.startOfAttempt(op.Attempt)
	}
	o.Context, o.span = h.tracer.Start(ctx, name, start...) //nolint:spancheck // End ends it
	if o.span.IsRecording() {
		o.start = time.Now()
		if waited {
			o.span.SetAttributes(keyDelay.Float64(delay.Seconds()))
		}
	}
	return o
}

// End ends the span and records the metrics.
func (h *Hook) End(ctx context.Context, op hooks.Op, res hooks.Result) {
	o := h.operationOf(ctx)
	if o == nil {
		return // not of a Start of this hook
	}
	sent, stopped := o.settle(isRejected(res.Err))
	o.release() // what is inside ends before it
	errorType := h.types.of(res)
	if o.span != nil {
		defer o.endSpan(op.Kind, res, errorType, sent, stopped)
	}
	measured := o.series.outcome(errorType)
	if op.Kind == hooks.KindAttempt {
		h.attemptDuration.Record(ctx, res.Duration.Seconds(), measured.attempt...)
		return
	}
	h.callDuration.Record(ctx, res.Duration.Seconds(), measured.call...)
	h.callAttempts.Record(ctx, int64(sent), measured.call...)
}

// isRejected is false for an error whose methods panic: of a call that was canceled, the
// stack has not asked them.
func isRejected(err error) (rejected bool) {
	defer func() { _ = recover() }()
	return errors.Is(err, stoic.ErrRejected)
}

// endSpan says how it went, and ends the span whatever the methods of an error do.
func (o *operation) endSpan(kind hooks.OpKind, res hooks.Result, errorType string, sent int, stopped string) {
	held := false
	defer func() {
		if !held {
			o.span.End()
		}
	}()
	if !o.span.IsRecording() {
		return
	}
	var attrs [4]attribute.KeyValue
	said := attrs[:0]
	if errorType != "" {
		said = append(said, keyErrorType.String(errorType))
		o.span.SetStatus(codes.Error, o.hook.message(res))
	}
	if kind == hooks.KindAttempt {
		o.span.SetAttributes(said...)
		failed := res.Outcome == hooks.Failed || res.Outcome == hooks.Rejected
		held = failed && o.parent.hold(o, res.Err)
		return
	}
	said = append(said, keyCallAttempts.Int(sent))
	switch {
	case res.Outcome == hooks.Canceled:
		said = append(said, keyCanceled.Bool(true))
	case errorType != "" && stopped != "":
		said = append(said, keyStopReason.String(stopped))
	}
	o.span.SetAttributes(said...)
}

// message is the description of a status: what went wrong, in the words of the error.
func (h *Hook) message(res hooks.Result) string {
	if h.noMessages {
		return ""
	}
	switch v := res.Panic.(type) {
	case nil:
		return redact.Error(res.Err)
	case error:
		return redact.Error(v)
	case string:
		return redact.Text(v)
	default:
		return "" // whatever it is, its text was not made to be read
	}
}

// Event counts what the policies decide, and adds it to the span that it is about.
func (h *Hook) Event(ctx context.Context, e hooks.Event) {
	o := h.operationOf(ctx)
	switch e.Kind { //nolint:exhaustive // the others are in the outcome of the call
	case hooks.Retry:
		if o != nil {
			o.retrying(e)
		}
		h.retryDelay.Record(ctx, e.Delay.Seconds(), h.waitOptions(e, "")...)
	case hooks.GaveUp:
		if o != nil {
			o.stoppedBy(e)
		}
	case hooks.Waited:
		h.limitWait.Record(ctx, e.Delay.Seconds(), h.waitOptions(e, "acquired")...)
	case hooks.Reject:
		h.rejected(ctx, o, e)
	case hooks.StateChange:
		h.stateChanged(ctx, o, e)
	}
}

func (o *operation) retrying(e hooks.Event) {
	o.judged(e, true, true)
	if o.span == nil {
		return
	}
	next := e.Attempt + 1
	if isRejected(e.Err) {
		next = e.Attempt
	}
	o.announce(wait{after: e.Attempt, next: next, delay: e.Delay})
}

func (o *operation) stoppedBy(e hooks.Event) {
	worth, known := retryable(e.Reason)
	judged := o.judged(e, worth, known)
	o.gaveUp(e.Attempt, e.Reason, judged)
}
