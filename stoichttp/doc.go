// Package stoichttp runs HTTP through a stack of stoic: [NewTransport] for clients,
// [Limit] and [WriteError] for servers.
//
//	client := &http.Client{Transport: stoichttp.NewTransport(nil, payments)}
//
// # What is retried, and why
//
// The retry of the stack does it; the [Transport] tells it what to do. With a plain
// retry.New():
//
//	what came back                        failure  retried
//	2xx, 3xx, 4xx but 429                 no       no: an answer
//	429, 502, 503, 504                    yes      yes: not now, or somebody in between
//	other 5xx                             yes      no: the same request fails the same way; see RetryStatus
//	an error of the transport             yes      yes
//	unsupported scheme, invalid URL       yes      no: see Permanent
//	a certificate that is refused         yes      no: see Permanent
//	the caller's context ended            no       no
//
// A failure counts against a breaker. [RetryStatus] and [FailIf] change the table. The
// wait before a retry is that of the Retry-After header, where there is one: seconds or a date in
// any of its three forms; a longer one than retry.MaxRetryAfter waits that.
//
// # Idempotency
//
// GET, HEAD, OPTIONS, TRACE, PUT and DELETE may be repeated. Any other request, a POST or
// a PATCH above all, is sent again only
//
//   - when the error proves that nothing was sent: a failed dial;
//   - with an Idempotency-Key, in the header or by stoic.WithIdempotencyKey, which
//     sets the header: the same on every attempt;
//   - with a header Idempotency-Key that has no values (req.Header["Idempotency-Key"] = nil),
//     which net/http, too, takes as a declaration, and does not send.
//
// # Bodies
//
// The first attempt sends the body of the request, and each further one a fresh one from
// GetBody, which http.NewRequest sets for a bytes.Buffer, a bytes.Reader and a strings.Reader. A
// body without GetBody is sent once, and what came back is what the caller gets. When GetBody
// fails, the call ends with its error.
//
// A response that is retried is held until the next attempt starts, because the caller
// gets it if there is none: the budget refuses, the breaker has opened, the deadline is too
// near. Then it is drained, within limits of bytes and time ([Drain]), and closed.
//
// # Deadlines
//
// The deadline of an attempt bounds the reading of the body too: a body that stalls fails
// at that moment with an error that matches context.DeadlineExceeded. Until then, the
// context of the attempt lives until the body is read to its end or closed. A held response whose
// time is up when the stack stops is closed, and the caller gets the error of the stack.
// A connection after 101 Switching Protocols belongs to the caller, and has no
// deadline.
//
// # Redirects
//
// An http.Client follows redirects above its transport: each hop is a call of the stack of its
// own, with its own attempts and deadlines; the context of the request and the client's
// Timeout bound them all. A 307 or 308 sends the body again through GetBody.
//
// # Order with other transports
//
// What is given to NewTransport as its base runs once for each attempt, what is around it once for each
// call. An instrumented transport belongs inside: it makes a span for every attempt. So does one
// that signs requests with the time. Use one retry: two multiply.
package stoichttp
