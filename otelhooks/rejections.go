package otelhooks

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
)

// maxRefusals bounds the combinations of pipeline, policy and reason. They are made of
// names in constructors; the bound is for the one who makes pipelines without end.
const maxRefusals = 4096

type refusalKey struct{ pipeline, kind, name, reason string }

// rejected counts a refusal, and writes its reason to the span on which it happened.
func (h *Hook) rejected(ctx context.Context, o *operation, e hooks.Event) {
	reason := h.types.admit(e.Reason)
	h.rejections.Add(ctx, 1, h.refusalOptions(refusalKey{e.Pipeline, e.Policy, e.Name, reason})...)
	if e.Policy == stoic.KindRateLimit {
		result := "rejected"
		if e.Reason == typeCanceled || e.Reason == typeDeadline {
			result = typeCanceled
		}
		h.limitWait.Record(ctx, e.Delay.Seconds(), h.waitOptions(e, result)...)
	}
	if o != nil && o.span != nil && o.span.IsRecording() {
		o.span.SetAttributes(keyRejection.String(reason))
	}
}

func (h *Hook) refusalOptions(key refusalKey) []metric.AddOption {
	if opts, ok := h.refusals.get(key); ok {
		return opts
	}
	made := func() []metric.AddOption {
		return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(
			keyPipeline.String(key.pipeline), keyPolicy.String(policyName(key.kind, key.name)),
			keyPolicyType.String(policyType(key.kind)), keyRejection.String(key.reason)))}
	}
	if opts, ok := h.refusals.add(key, maxRefusals, made); ok {
		return opts
	}
	return made()
}

type waitKey struct{ pipeline, kind, name, result string }

// waitOptions are those of a wait: of a retry, or of a limiter with a result.
func (h *Hook) waitOptions(e hooks.Event, result string) []metric.RecordOption {
	if !h.detailed {
		return nil // goes to a no-op
	}
	key := waitKey{e.Pipeline, e.Policy, e.Name, result}
	if opts, ok := h.waits.get(key); ok {
		return opts
	}
	made := func() []metric.RecordOption {
		attrs := []attribute.KeyValue{keyPipeline.String(key.pipeline), keyPolicy.String(policyName(key.kind, key.name))}
		if key.result != "" {
			attrs = append(attrs, keyLimitResult.String(key.result))
		}
		return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
	}
	if opts, ok := h.waits.add(key, maxRefusals, made); ok {
		return opts
	}
	return made()
}
