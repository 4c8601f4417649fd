package otelhooks

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic"
)

// Attributes and options are built once for each combination of names and kept, because
// building them costs more than all the rest.

const (
	// maxSeries is how many pairs of pipeline and operation one hook tells apart: a name of
	// an operation comes with the context of each call, and may be an id by mistake.
	maxSeries = 1000
	// maxReady is up to which number an attempt's start options are kept.
	maxReady = 10
)

// series is what is the same for each call of one operation through one pipeline.
type series struct {
	pipeline, operation string
	callName            string
	attemptName         string
	kind                trace.SpanKind // of attempts
	callStart           []trace.SpanStartOption
	attemptStart        [maxReady][]trace.SpanStartOption
	success             measured
	failures            cache[string, measured] // by error.type
}

// measured are the options for what one outcome records.
type measured struct {
	call, attempt []metric.RecordOption
}

type seriesKey struct{ pipeline, operation string }

// seriesOf returns the series of an operation. One too many is counted with the others of
// its pipeline, and of pipelines without end with those of all.
func (h *Hook) seriesOf(pipeline, operation string) *series {
	key := seriesKey{pipeline, operation}
	if s, ok := h.series.get(key); ok {
		return s
	}
	if s, ok := h.series.add(key, maxSeries, func() *series { return newSeries(key, h.attemptKind) }); ok {
		return s
	}
	key.operation = other
	if s, ok := h.series.get(key); ok {
		return s
	}
	if s, ok := h.series.add(key, 2*maxSeries, func() *series { return newSeries(key, h.attemptKind) }); ok {
		return s
	}
	return h.rest
}

func newSeries(key seriesKey, attemptKind trace.SpanKind) *series {
	s := &series{
		pipeline: key.pipeline, operation: key.operation,
		callName: key.operation, attemptName: "attempt " + key.operation,
		kind:    attemptKind,
		success: newMeasured(key, ""),
	}
	if s.callName == "" {
		s.callName, s.attemptName = "stoic.call", "attempt"
	}
	s.callStart = []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(keyPipeline.String(key.pipeline), keyOperation.String(key.operation)),
	}
	for i := range s.attemptStart {
		s.attemptStart[i] = s.newAttemptStart(i + 1)
	}
	return s
}

// startOfAttempt are the options of the span of an attempt with that number.
func (s *series) startOfAttempt(number int) []trace.SpanStartOption {
	if 1 <= number && number <= maxReady {
		return s.attemptStart[number-1]
	}
	return s.newAttemptStart(number)
}

func (s *series) newAttemptStart(number int) []trace.SpanStartOption {
	return []trace.SpanStartOption{
		trace.WithSpanKind(s.kind),
		trace.WithAttributes(keyPipeline.String(s.pipeline), keyOperation.String(s.operation),
			keyPolicy.String(stoic.KindRetry), keyAttempt.Int(number)),
	}
}

// outcome are the options for what an outcome with that error.type records.
func (s *series) outcome(errorType string) measured {
	if errorType == "" {
		return s.success
	}
	if m, ok := s.failures.get(errorType); ok {
		return m
	}
	made := func() measured { return newMeasured(seriesKey{s.pipeline, s.operation}, errorType) }
	m, _ := s.failures.add(errorType, maxTypes+1, made) // errorTypes gives no more than that
	return m
}

func newMeasured(key seriesKey, errorType string) measured {
	attrs := []attribute.KeyValue{keyPipeline.String(key.pipeline), keyOperation.String(key.operation)}
	if errorType != "" {
		attrs = append(attrs, keyErrorType.String(errorType))
	}
	call := attribute.NewSet(attrs...)
	attempt := attribute.NewSet(append(attrs, keyPolicy.String(stoic.KindRetry))...)
	return measured{
		call:    []metric.RecordOption{metric.WithAttributeSet(call)},
		attempt: []metric.RecordOption{metric.WithAttributeSet(attempt)},
	}
}
