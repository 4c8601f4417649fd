package otelhooks

import (
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"go.opentelemetry.io/otel/attribute"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
)

// ScopeName is the name of the instrumentation scope, and Version its version.
const (
	ScopeName = "github.com/stoic-go/stoic/otelhooks"
	Version   = "0.1.0"
)

// The attributes. error.type is the one of the semantic conventions.
const (
	keyPipeline      = attribute.Key("stoic.pipeline.name")
	keyOperation     = attribute.Key("stoic.operation.name")
	keyPolicy        = attribute.Key("stoic.policy.name")
	keyPolicyType    = attribute.Key("stoic.policy.type")
	keyAttempt       = attribute.Key("stoic.attempt.number")
	keyRetryable     = attribute.Key("stoic.attempt.retryable")
	keyCallAttempts  = attribute.Key("stoic.call.attempts")
	keyCanceled      = attribute.Key("stoic.call.canceled")
	keyDelay         = attribute.Key("stoic.retry.delay")
	keyStopReason    = attribute.Key("stoic.retry.stop_reason")
	keyRejection     = attribute.Key("stoic.rejection.reason")
	keyState         = attribute.Key("stoic.breaker.state")
	keyPreviousState = attribute.Key("stoic.breaker.previous_state")
	keyLimitResult   = attribute.Key("stoic.rate_limit.result")
	keyErrorType     = semconv.ErrorTypeKey
)

// eventStateChange is the name of the only span event.
const eventStateChange = "stoic.breaker.state_change"

// other stands for what there are too many of, or what cannot be named.
const other = "_OTHER"

// policyType is the kind of a layer in the spelling of OpenTelemetry. The kinds of other
// packages' layers stay as they are.
func policyType(kind string) string {
	if kind == stoic.KindRateLimit {
		return "rate_limit"
	}
	return kind
}

// policyName is the layer's own name, or what it is: most layers have no name, and their
// pipeline tells them apart.
func policyName(kind, name string) string {
	if name != "" {
		return name
	}
	return policyType(kind)
}

// stateName is a state of a breaker in the spelling of OpenTelemetry.
func stateName(state string) string {
	if state == hooks.StateHalfOpen {
		return "half_open"
	}
	return state
}
