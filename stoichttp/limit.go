package stoichttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/retry"
)

// Limit is a handler that runs next inside p, to shed load at the door: with a rate limit
// of requests, a breaker that opens when the handler fails, a deadline.
//
// When p refuses, [WriteError] answers and next is not called. Otherwise next gets the
// request with the context of the stack. A status of 500 or above that it writes is
// a failure for p, a [*StatusError]; so is a return with nothing written after its
// context ended, which WriteError then answers. When next has written, nothing is written
// on top, whatever p says. Panics, http.ErrAbortHandler among them, pass through.
//
// A handler cannot run twice. Limit panics with an error that matches
// stoic.ErrInvalid when p has a layer that repeats (a retry), is not a pipeline made by
// stoic.New, or next is nil; a layer of which stoic knows nothing gets an error for
// a second run, and next is called at most once.
//
// The ResponseWriter that next gets has Flush, Hijack and ReadFrom, and Unwrap for
// http.ResponseController.
func Limit(p *stoic.Pipeline, next http.Handler) http.Handler {
	if err := checkLimit(p, next); err != nil {
		panic(err)
	}
	return &limited{p: p, next: next}
}

func checkLimit(p *stoic.Pipeline, next http.Handler) error {
	if err := checkPipeline("Limit", p); err != nil {
		return err
	}
	if next == nil {
		return &stoic.InvalidError{Pipeline: p.Name(), Field: "Limit", Value: "nil", Reason: "needs a handler"}
	}
	for _, l := range p.Explain().Layers {
		if l.Repeats {
			return &stoic.InvalidError{
				Pipeline: p.Name(), Layer: l.Number, Policy: l.Kind, Field: "Limit",
				Reason: "a handler cannot run twice, and this layer repeats what is inside it",
			}
		}
	}
	return nil
}

type limited struct {
	p    *stoic.Pipeline
	next http.Handler
}

func (l *limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := &handling{responseWriter: responseWriter{ResponseWriter: w}, next: l.next, r: r}
	err := l.p.Do(r.Context(), h.run)
	if err != nil && !h.wrote {
		WriteError(w, err)
	}
}

// handling is one request. A handler runs on the goroutine that serves the request, so
// there is no lock: layers that run what is inside them elsewhere do not go with Limit.
type handling struct {
	responseWriter
	next http.Handler
	r    *http.Request
	ran  bool
}

var errRanTwice = retry.Permanent(errors.New("stoichttp: a layer tried to run a handler twice"))

func (h *handling) run(ctx context.Context) error {
	if h.ran {
		return errRanTwice
	}
	h.ran = true
	h.next.ServeHTTP(&h.responseWriter, h.r.WithContext(ctx))
	switch {
	case h.code >= http.StatusInternalServerError:
		return &StatusError{Code: h.code}
	case !h.wrote && ctx.Err() != nil:
		return fmt.Errorf("stoichttp: the handler wrote nothing: %w", stoic.ContextError(ctx))
	default:
		return nil
	}
}
