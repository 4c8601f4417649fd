package main

import (
	"net/http"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic"
)

// transport makes a client span for each request that goes out. It belongs below the
// stack's transport, so that each attempt passes through it.
type transport struct {
	base   http.RoundTripper
	tracer trace.Tracer
}

func newTransport(base http.RoundTripper, tracers trace.TracerProvider) transport {
	return transport{base, tracers.Tracer("example/httpclient", trace.WithSchemaURL(semconv.SchemaURL))}
}

// RoundTrip sends the request. The span ends with the header of the answer; that of a
// complete instrumentation would end with the body.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, span := t.tracer.Start(req.Context(), req.Method,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(describe(req)...))
	defer span.End()
	req = req.Clone(ctx) // whose headers are ours to change
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(req.Header))

	resp, err := t.base.RoundTrip(req)
	if err != nil {
		span.SetAttributes(semconv.ErrorType(err))
		span.SetStatus(codes.Error, "") // the message may hold the URL, and its secrets
		return nil, err
	}
	span.SetAttributes(semconv.HTTPResponseStatusCode(resp.StatusCode))
	if resp.StatusCode >= http.StatusBadRequest {
		span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(resp.StatusCode)))
		span.SetStatus(codes.Error, "")
	}
	return resp, nil
}

// describe is what the conventions want to know of a request before it is sent.
func describe(req *http.Request) []attribute.KeyValue {
	attrs := []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String(req.Method),
		semconv.ServerAddress(req.URL.Hostname()),
		semconv.ServerPort(port(req.URL)),
		semconv.URLFull(withoutSecrets(req.URL)),
	}
	// The first attempt has no such attribute, the second has 1. A resend that is none of
	// the stack's, such as a redirect that http.Client follows, is not counted here.
	if n := stoic.Attempt(req.Context()); n > 1 {
		attrs = append(attrs, semconv.HTTPRequestResendCount(n-1))
	}
	return attrs
}

func port(u *url.URL) int {
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return n
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}

// withoutSecrets drops the parts of a URL that often hold one.
func withoutSecrets(u *url.URL) string {
	safe := *u
	safe.User, safe.RawQuery, safe.Fragment, safe.RawFragment = nil, "", "", ""
	return safe.String()
}
