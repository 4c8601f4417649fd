package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// answers is a transport that sends nothing: it answers with one status after the other.
// A status of 0 is a failure of the network.
type answers struct {
	statuses []int
	requests []*http.Request
}

var errNetwork = errors.New("connection reset")

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	a.requests = append(a.requests, req)
	status := a.statuses[0]
	a.statuses = a.statuses[1:]
	if status == 0 {
		return nil, errNetwork
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: req}, nil
}

// spansOf makes a call for each list of statuses, and returns the spans in the order in
// which they ended, by kind: those of requests, of attempts and of calls.
func spansOf(t *testing.T, a *answers, calls ...[]int) (requests, attempts, roots []sdktrace.ReadOnlySpan) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	c, err := newClient(a, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
	if err != nil {
		t.Fatal(err)
	}
	for _, statuses := range calls {
		a.statuses = statuses
		last := statuses[len(statuses)-1]
		status, _, err := send(t.Context(), c, "GET", "https://user:s3cr3t@shop.example/orders?token=hunter2#top")
		if status != last || (err != nil) != (last == 0) {
			t.Fatalf("%v: status %d, %v", statuses, status, err)
		}
	}
	if started, ended := len(recorder.Started()), len(recorder.Ended()); started != ended {
		t.Errorf("%d spans began, %d ended", started, ended)
	}
	for _, s := range recorder.Ended() {
		switch {
		case s.SpanKind() == trace.SpanKindClient:
			requests = append(requests, s)
		case strings.HasPrefix(s.Name(), "attempt "):
			attempts = append(attempts, s)
		default:
			roots = append(roots, s)
		}
	}
	return requests, attempts, roots
}

func TestC53_ResendCountOnlyOnResends(t *testing.T) {
	for name, tt := range map[string]struct {
		statuses []int
		want     []attribute.Value // one for each request; the zero value is an absent attribute
	}{
		"503, 503, 200":   {[]int{503, 503, 200}, []attribute.Value{{}, attribute.IntValue(1), attribute.IntValue(2)}},
		"success at once": {[]int{200}, []attribute.Value{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests, _, _ := spansOf(t, &answers{}, tt.statuses)
				if len(requests) != len(tt.want) {
					t.Fatalf("%d client spans, want %d", len(requests), len(tt.want))
				}
				for i, s := range requests {
					got, _ := value(s, semconv.HTTPRequestResendCountKey)
					if got != tt.want[i] {
						t.Errorf("request %d: http.request.resend_count = %v (%v), want %v (%v)",
							i+1, got.AsInterface(), got.Type(), tt.want[i].AsInterface(), tt.want[i].Type())
					}
				}
			})
		})
	}
}

// TestC53_CountBeginsAnewWithEachCall is the case's second half on the same client: a call
// after one with resends has none.
func TestC53_CountBeginsAnewWithEachCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests, _, _ := spansOf(t, &answers{}, []int{503, 503, 200}, []int{200})
		if s := requests[len(requests)-1]; len(requests) != 4 {
			t.Errorf("%d client spans, want 4", len(requests))
		} else if got, ok := value(s, semconv.HTTPRequestResendCountKey); ok {
			t.Errorf("http.request.resend_count = %v on the first request of a call", got.AsInterface())
		}
	})
}

func TestRequestsAreBelowTheirAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{}
		requests, attempts, roots := spansOf(t, a, []int{503, 0, 200})
		if len(requests) != 3 || len(attempts) != 3 || len(roots) != 1 {
			t.Fatalf("%d requests, %d attempts, %d calls; want 3, 3 and 1", len(requests), len(attempts), len(roots))
		}
		for i := range requests {
			if got, want := requests[i].Parent().SpanID(), attempts[i].SpanContext().SpanID(); got != want {
				t.Errorf("the parent of request %d is %v, want attempt %v", i+1, got, want)
			}
			if got, want := attempts[i].Parent().SpanID(), roots[0].SpanContext().SpanID(); got != want {
				t.Errorf("the parent of attempt %d is %v, want the call %v", i+1, got, want)
			}
			id := requests[i].SpanContext()
			if got, want := a.requests[i].Header.Get("Traceparent"), "00-"+id.TraceID().String()+"-"+id.SpanID().String()+"-01"; got != want {
				t.Errorf("request %d: traceparent = %q, want %q", i+1, got, want)
			}
			if got := trace.SpanContextFromContext(a.requests[i].Context()); got.SpanID() != id.SpanID() {
				t.Errorf("request %d: what is below the transport is in span %v, want %v", i+1, got.SpanID(), id.SpanID())
			}
		}
	})
}

// TestRoundTripLeavesTheRequestAlone is what http.RoundTripper demands.
func TestRoundTripLeavesTheRequestAlone(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.example/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := newTransport(&answers{statuses: []int{200}}, sdktrace.NewTracerProvider()).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if len(req.Header) != 0 {
		t.Errorf("the request got headers: %v", req.Header)
	}
}

func TestRequestSpans(t *testing.T) {
	base := []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String("GET"), semconv.ServerAddress("shop.example"), semconv.ServerPort(443),
		semconv.URLFull("https://shop.example/orders"),
	}
	with := func(more ...attribute.KeyValue) []attribute.KeyValue {
		return append(base[:len(base):len(base)], more...)
	}
	want := [][]attribute.KeyValue{
		with(semconv.HTTPResponseStatusCode(503), semconv.ErrorTypeKey.String("503")),
		with(semconv.HTTPRequestResendCount(1), semconv.ErrorType(errNetwork)),
		with(semconv.HTTPRequestResendCount(2), semconv.HTTPResponseStatusCode(200)),
	}
	synctest.Test(t, func(t *testing.T) {
		requests, attempts, _ := spansOf(t, &answers{}, []int{503, 0, 200})
		for i, s := range requests {
			got, want := attribute.NewSet(s.Attributes()...), attribute.NewSet(want[i]...)
			if got != want {
				t.Errorf("request %d:\n got %v\nwant %v", i+1, got.ToSlice(), want.ToSlice())
			}
			code := codes.Error
			if i == 2 {
				code = codes.Unset
			}
			if got, want := s.Status(), (sdktrace.Status{Code: code}); got != want {
				t.Errorf("request %d: status %v, want %v", i+1, got, want)
			}
		}
		// The convention is that a failed span and what it is a part of agree.
		requestType, _ := value(requests[0], semconv.ErrorTypeKey)
		if got, _ := value(attempts[0], semconv.ErrorTypeKey); got != requestType {
			t.Errorf("error.type of the attempt = %q, of its request %q", got.AsString(), requestType.AsString())
		}
	})
}

func TestNoSpanHoldsSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests, attempts, roots := spansOf(t, &answers{}, []int{0, 503, 0})
		for _, s := range append(append(requests, attempts...), roots...) {
			text := fmt.Sprint(s.Name(), s.Status().Description, s.Attributes(), s.Events())
			for _, secret := range []string{"s3cr3t", "hunter2"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s: %q is in %q", s.Name(), secret, text)
				}
			}
		}
	})
}

func TestPort(t *testing.T) {
	for raw, want := range map[string]int{
		"http://a/": 80, "https://a/": 443, "http://a:8080/": 8080, "https://a:8443/": 8443,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := port(u); got != want {
			t.Errorf("port(%s) = %d, want %d", raw, got, want)
		}
	}
}

// TestRun runs the program, with real requests.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out); err != nil {
		t.Fatal(err)
	}
	want := `A line for each span, then what the caller got.

GET, and the server answers 503 twice
orders              internal  stoic.call.attempts=3
  attempt orders    internal  stoic.attempt.number=1  error.type=503
    GET             client    http.response.status_code=503  error.type=503
  attempt orders    internal  stoic.attempt.number=2  stoic.retry.delay=0.02  error.type=503
    GET             client    http.response.status_code=503  http.request.resend_count=1  error.type=503
  attempt orders    internal  stoic.attempt.number=3  stoic.retry.delay=0.02
    GET             client    http.response.status_code=200  http.request.resend_count=2
→ 200 "done"

POST: it may have been executed, so it is sent once, and the caller gets the 503
orders              internal  stoic.call.attempts=1  error.type=503
  attempt orders    internal  stoic.attempt.number=1  error.type=503
    POST            client    http.response.status_code=503  error.type=503
→ 503 "busy"

POST with an idempotency key
orders              internal  stoic.call.attempts=3
  attempt orders    internal  stoic.attempt.number=1  error.type=503
    POST            client    http.response.status_code=503  error.type=503
  attempt orders    internal  stoic.attempt.number=2  stoic.retry.delay=0.02  error.type=503
    POST            client    http.response.status_code=503  http.request.resend_count=1  error.type=503
  attempt orders    internal  stoic.attempt.number=3  stoic.retry.delay=0.02
    POST            client    http.response.status_code=200  http.request.resend_count=2
→ 200 "done: one book, for order-7"

GET, and the server answers 429 with Retry-After: 1
orders              internal  stoic.call.attempts=2
  attempt orders    internal  stoic.attempt.number=1  error.type=429
    GET             client    http.response.status_code=429  error.type=429
  attempt orders    internal  stoic.attempt.number=2  stoic.retry.delay=1
    GET             client    http.response.status_code=200  http.request.resend_count=1
→ 200 "done"

GET of what a stack at the server's own door refuses
orders              internal  stoic.call.attempts=1  error.type=deadline_exceeded
  attempt orders    internal  stoic.attempt.number=1  error.type=429
    GET             client    http.response.status_code=429  error.type=429
→ 429 "Too Many Requests"

GET, and the server is always busy: the breaker counts
orders              internal  stoic.call.attempts=3  error.type=503
  attempt orders    internal  stoic.attempt.number=1  error.type=503
    GET             client    http.response.status_code=503  error.type=503
  attempt orders    internal  stoic.attempt.number=2  stoic.retry.delay=0.02  error.type=503
    GET             client    http.response.status_code=503  http.request.resend_count=1  error.type=503
  attempt orders    internal  stoic.attempt.number=3  stoic.retry.delay=0.02  error.type=503
    GET             client    http.response.status_code=503  http.request.resend_count=2  error.type=503
→ 503 "down"

GET, and the breaker opens: the caller gets the last 503
orders              internal  stoic.call.attempts=2  error.type=503
  attempt orders    internal  stoic.attempt.number=1  error.type=503
    GET             client    http.response.status_code=503  error.type=503
  attempt orders    internal  stoic.attempt.number=2  stoic.retry.delay=0.02  error.type=503
    GET             client    http.response.status_code=503  http.request.resend_count=1  error.type=503
  attempt orders    internal  stoic.attempt.number=3  stoic.retry.delay=0.02  error.type=circuit_open
→ 503 "down"

GET, and nothing is sent
orders              internal  stoic.call.attempts=0  error.type=circuit_open
  attempt orders    internal  stoic.attempt.number=1  error.type=circuit_open
→ rejected: the circuit breaker is open
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
