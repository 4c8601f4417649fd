package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

const (
	// backoff is the wait before each retry, so that the sum of the waits is known.
	backoff = 5 * time.Millisecond
	// perToken is the time between two tokens of the limiter of quota.
	perToken = 50 * time.Millisecond
)

// world is a program with five stacks, each of all policies, that call one real server.
// Each stack shows something else:
//
//	payments  retries that pay
//	search    retries that do not pay, and a breaker that opens
//	mail      a budget that is spent
//	quota     a limiter that makes calls wait, and refuses
//	legacy    no call that ever succeeded
//
// All that can happen happens in warmUp and again in measured, between two scrapes, so that
// each series has a rate.
type world struct {
	t      *testing.T
	server *httptest.Server
	truth  *truth

	payments, search, mail, quota, legacy *stoic.Pipeline
	searchBreaker                         *breaker.Breaker
	quotaLimiter                          *rate.Limiter
}

func newWorld(t *testing.T, hook hooks.Hook) *world {
	t.Helper()
	w := &world{t: t, truth: &truth{}}
	// The last part of the path is the status of the answer.
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(path.Base(r.URL.Path))
		if err != nil {
			status = http.StatusBadRequest
		}
		rw.WriteHeader(status)
	}))
	t.Cleanup(w.server.Close)
	w.searchBreaker = breaker.New("search", breaker.ConsecutiveFailures(4), breaker.OpenFor(time.Hour))
	w.quotaLimiter = rate.NewLimiter(rate.Every(perToken), 1)

	hook = hooks.Join(hook, w.truth)
	plenty := ratelimit.New(1e6, 1000)
	w.payments = stack(t, hook, "payments", budgetOf(1), breaker.New("payments"), plenty)
	w.search = stack(t, hook, "search", budgetOf(1), w.searchBreaker, plenty)
	w.mail = stack(t, hook, "mail", budgetOf(0.5), breaker.New("mail"), plenty)
	w.quota = stack(t, hook, "quota", budgetOf(1), breaker.New("quota"), ratelimit.From(w.quotaLimiter, ratelimit.Wait(time.Second)))
	w.legacy = stack(t, hook, "legacy", budgetOf(1), breaker.New("legacy"), plenty)
	return w
}

// budgetOf counts whole calls: none leaves its window, and none is for free.
func budgetOf(ratio float64) *budget.Budget {
	return budget.New(budget.Ratio(ratio), budget.MinPerSecond(0), budget.Window(time.Hour))
}

func stack(t *testing.T, hook hooks.Hook, name string, retries *budget.Budget, b *breaker.Breaker, l *ratelimit.Limiter) *stoic.Pipeline {
	t.Helper()
	p, err := stoic.New(name,
		stoic.Observe(hook),
		deadline.New(20*time.Second),
		retries,
		retry.New(retry.MaxAttempts(3), retry.Constant(backoff)),
		b,
		l,
		deadline.New(10*time.Second),
	)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// warmUp makes each series.
func (w *world) warmUp() {
	w.do(w.payments, "", 200)
	w.do(w.payments, "", 503, 200)
	w.do(w.payments, "503", 503, 503, 503)
	w.do(w.payments, "400", 400)

	w.do(w.search, "", 200)
	w.do(w.search, "", 200)
	w.do(w.search, "503", 503, 503, 503)
	w.searchBreaker.ForceOpen()
	w.do(w.search, "circuit breaker")
	w.searchBreaker.Auto()
	w.do(w.search, "", 200)

	w.do(w.mail, "", 200)
	w.do(w.mail, "", 503, 200)
	w.do(w.mail, "budget", 503) // the second retry in three calls

	w.do(w.legacy, "400", 400)
	w.do(w.legacy, "503", 503, 503, 503)

	w.limits()
}

// measured is what the queries are asked about.
func (w *world) measured() {
	w.t.Helper()
	for range 4 { // 4 calls, 4 attempts
		w.do(w.payments, "", 200)
	}
	for range 3 { // 3 saved, 6 attempts, 3 waits
		w.do(w.payments, "", 503, 200)
	}
	w.do(w.payments, "", 503, 503, 200)    // 1 saved, 3 attempts, 2 waits
	w.do(w.payments, "503", 503, 503, 503) // 1 lost, 3 attempts, 2 waits
	w.do(w.payments, "400", 400)           // not retried, 1 attempt

	w.do(w.search, "503", 503, 503, 503)   // lost, 3 attempts, 2 waits
	w.do(w.search, "circuit breaker", 503) // the 4th failure in a row: 1 attempt, 1 wait
	w.do(w.search, "circuit breaker")      // not sent
	w.do(w.search, "circuit breaker")      // not sent
	if got := w.searchBreaker.State(); got != breaker.Open {
		w.t.Errorf("the breaker of search is %v, want open", got)
	}

	w.do(w.mail, "", 503, 200)       // the 4th call: 2 of 2 retries
	w.do(w.mail, "budget", 503)      // the 5th: refused
	w.do(w.mail, "budget", 503, 503) // the 6th: 3 of 3 retries, then refused
	w.do(w.mail, "budget", 503)      // the 7th: refused
	w.do(w.mail, "", 503, 200)       // the 8th: 4 of 4

	w.do(w.legacy, "400", 400)           // not retried, 1 attempt
	w.do(w.legacy, "503", 503, 503, 503) // lost, 3 attempts, 2 waits

	w.limits()
}

// limits makes calls until one waited for its token, which is the first unless the machine
// stands still, one whose token comes after its deadline, and one whose caller gives up
// while it waits.
func (w *world) limits() {
	w.t.Helper()
	before := w.truth.waits()
	for range 10 {
		w.debt(2 * perToken)
		w.do(w.quota, "", 200)
		if w.truth.waits() > before {
			break
		}
	}
	if w.truth.waits() == before {
		w.t.Error("no call waited for a token")
	}
	settle := w.debt(time.Minute)
	w.do(w.quota, "after the deadline")
	settle()
	settle = w.debt(10 * perToken)
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	w.doWith(context.WithValue(ctx, leaves{}, cancel), w.quota, "canceled")
	settle()
}

// leaves is the key of what to call when the first attempt begins.
type leaves struct{}

// debt takes as many tokens at once as come in that time. settle gives them back.
func (w *world) debt(of time.Duration) (settle func()) {
	tokens := int(of/perToken) + 1
	w.quotaLimiter.SetBurst(tokens)
	taken := w.quotaLimiter.ReserveN(time.Now(), tokens)
	w.quotaLimiter.SetBurst(1)
	return taken.Cancel
}

// do makes one call whose attempts get these answers, and checks what comes of it: an error
// with this text, or none.
func (w *world) do(p *stoic.Pipeline, want string, answers ...int) {
	w.t.Helper()
	w.doWith(w.t.Context(), p, want, answers...)
}

func (w *world) doWith(ctx context.Context, p *stoic.Pipeline, want string, answers ...int) {
	w.t.Helper()
	sent := 0
	err := p.Do(ctx, func(ctx context.Context) error {
		if sent == len(answers) {
			return retry.Permanent(errors.New("one attempt too many"))
		}
		sent++
		return w.get(ctx, answers[sent-1])
	})
	if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
		w.t.Errorf("%s, answers %v: got error %q, want %q", p.Name(), answers, got, want)
	}
	if sent != len(answers) {
		w.t.Errorf("%s, answers %v: %d attempts, want %d", p.Name(), answers, sent, len(answers))
	}
}

func (w *world) get(ctx context.Context, answer int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/%d", w.server.URL, answer), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := w.server.Client().Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	switch {
	case resp.StatusCode >= 500:
		return fmt.Errorf("the server says %s", resp.Status)
	case resp.StatusCode >= 400:
		return retry.Permanent(fmt.Errorf("the server says %s", resp.Status))
	default:
		return nil
	}
}

// truth is a hook beside the one under test, which adds up what the queries should find.
type truth struct {
	hooks.Nop

	mu     sync.Mutex
	spent  map[spell]time.Duration
	waited int
}

// spell is where time is spent: in the calls or in the attempts of a pipeline.
type spell struct {
	kind     hooks.OpKind
	pipeline string
}

func (*truth) Start(ctx context.Context, op hooks.Op) context.Context {
	if leave, ok := ctx.Value(leaves{}).(context.CancelFunc); ok && op.Kind == hooks.KindAttempt {
		leave()
	}
	return ctx
}

func (tr *truth) End(_ context.Context, op hooks.Op, res hooks.Result) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.spent == nil {
		tr.spent = make(map[spell]time.Duration)
	}
	tr.spent[spell{op.Kind, op.Pipeline}] += res.Duration
}

func (tr *truth) Event(_ context.Context, e hooks.Event) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if e.Kind == hooks.Waited {
		tr.waited++
	}
}

func (tr *truth) waits() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.waited
}

// take returns the sums, in seconds, and begins anew.
func (tr *truth) take() func(kind hooks.OpKind, pipeline string) float64 {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	spent := tr.spent
	tr.spent = nil
	return func(kind hooks.OpKind, pipeline string) float64 { return spent[spell{kind, pipeline}].Seconds() }
}
