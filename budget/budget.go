package budget

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/internal/settings"
)

// The defaults.
const (
	DefaultRatio        = 0.1
	DefaultMinPerSecond = 1.0
	DefaultWindow       = 10 * time.Second
)

// ErrExhausted matches the error of a retry that the budget refused.
var ErrExhausted = errors.New("budget: exhausted")

// Budget is a policy that counts the requests that pass through it and limits the
// retries of the retry inside it. Its state is a sliding window: every pipeline that
// holds the value shares it. It is exact and safe for concurrent use. Make it with
// [New]; the zero value is refused by stoic.New.
type Budget struct {
	config

	start time.Time // of monotonic time
	win   *window
	view  *view
}

var (
	_ stoic.Budget     = (*Budget)(nil)
	_ stoic.Describer  = (*Budget)(nil)
	_ stoic.Validator  = (*Budget)(nil)
	_ stoic.Identifier = (*Budget)(nil)
)

type config struct {
	ratio        float64
	minPerSecond float64
	span         time.Duration
	problems     settings.Problems
}

// An Option changes one setting of a [Budget]. Of several that set the same, the last
// counts.
type Option func(*config)

// Ratio sets how many retries each request allows [0.1], from 0 to 1. It counts in
// millionths: a smaller ratio that is not 0 is refused by stoic.New.
func Ratio(r float64) Option {
	return func(c *config) {
		c.ratio = r
		c.problems.Check("ratio", r == 0 || r >= 1e-6 && r <= 1, "Ratio", r, "must be from 0 to 1, in steps of a millionth")
	}
}

// MinPerSecond sets how many retries a second are allowed whatever the requests [1]:
// without it, a client that makes few calls could never retry. 0 is none; fractions
// are fine.
func MinPerSecond(m float64) Option {
	return func(c *config) {
		c.minPerSecond = m
		c.problems.Check("min", m >= 0 && m <= 1e6, "MinPerSecond", m, "must be from 0 to 1000000")
	}
}

// Window sets the time over which requests and retries are counted [10 s], at least
// 10 ms and at most a day. It is kept in 10 slots, so a request counts for between
// nine tenths of it and the whole.
func Window(d time.Duration) Option {
	return func(c *config) {
		c.span = d
		c.problems.Check("window", d >= 10*time.Millisecond && d <= 24*time.Hour, "Window", d, "must be from 10ms to 24h")
	}
}

// New makes a budget. Without options: 10 % of the requests of the last 10 s, and one
// retry a second. Invalid options are reported by stoic.New.
func New(opts ...Option) *Budget {
	b := &Budget{
		config: config{ratio: DefaultRatio, minPerSecond: DefaultMinPerSecond, span: DefaultWindow},
		start:  time.Now(),
	}
	for _, opt := range opts {
		if opt == nil {
			b.problems.Check("option", false, "Option", "nil", "must not be nil")
			continue
		}
		opt(&b.config)
	}
	if b.problems.Err() == nil {
		b.win = newWindow(b.span, millionths(b.ratio), millionths(b.minPerSecond*b.span.Seconds()))
		b.view = &view{b: b}
	}
	return b
}

func millionths(x float64) uint64 { return uint64(math.Round(x * 1e6)) }

// Run is called by the stack. It counts one request per logical call: not the
// resends of a retry further out.
func (b *Budget) Run(ctx context.Context, next stoic.Next) error {
	if b.win == nil {
		return b.Validate()
	}
	if next.Attempt() == 1 {
		b.win.request(time.Since(b.start))
	}
	return next.Do(ctx)
}

// Reserve grants one retry, or returns a rejection that matches [ErrExhausted]. A
// retry calls it; a waiting retry counts from then on.
func (b *Budget) Reserve() (stoic.Ticket, error) {
	if b.win == nil {
		return 0, b.Validate()
	}
	if number, ok := b.win.reserve(time.Since(b.start)); ok {
		return stoic.Ticket(number), nil
	}
	return 0, exhausted()
}

func exhausted() *stoic.Rejection {
	return &stoic.Rejection{
		Policy: stoic.KindBudget, Reason: "retry budget spent", Err: ErrExhausted, Type: "budget_exhausted",
	}
}

// Refund gives back a retry that was granted and not sent, to the time at which it
// was granted.
func (b *Budget) Refund(t stoic.Ticket) {
	if b.win != nil {
		b.win.refund(int64(t))
	}
}

// Utilization is the share of the retries allowed in the window that is spent now: 0 while
// none was granted, 1 when all were. It is 1 too when requests have left the window and
// the retries that they allowed have not. Reading changes nothing.
func (b *Budget) Utilization() float64 {
	if b.win == nil {
		return 0
	}
	return b.win.utilization(time.Since(b.start))
}

// WithdrawOnly is a view of the budget that pays for retries and counts no requests.
// A client further down, below a stack that counts them already, takes it, so that a
// request does not count twice. It is the same view on every call.
func (b *Budget) WithdrawOnly() stoic.Budget {
	if b.view == nil {
		return &view{b: b}
	}
	return b.view
}

// view is a Budget that counts no requests.
type view struct{ b *Budget }

func (v *view) Run(ctx context.Context, next stoic.Next) error {
	if v.b.win == nil {
		return v.b.Validate()
	}
	return next.Do(ctx)
}

func (v *view) Reserve() (stoic.Ticket, error) { return v.b.Reserve() }
func (v *view) Refund(t stoic.Ticket)          { v.b.Refund(t) }
func (v *view) Validate() error                { return v.b.Validate() }
func (v *view) Identity() any                  { return v }
func (v *view) Utilization() float64           { return v.b.Utilization() }

func (v *view) Describe() stoic.Description {
	d := v.b.Describe()
	d.Params = append(d.Params, stoic.Param{Name: "withdraw only", Value: true})
	return d
}
