package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/retry"
)

// PatternConfig is one row of E9.
type PatternConfig struct {
	Name           string
	ConnectTimeout time.Duration
	Layers         func(env func() time.Duration) []stoic.Policy

	want [6][2]float64 // total and contention, s, by availability
}

// PatternAvailabilities are the columns of E9.
func PatternAvailabilities() []float64 { return []float64{0.5, 0.6, 0.7, 0.8, 0.9, 1} }

// PatternConfigs are the rows of E9.
func PatternConfigs() []PatternConfig {
	const s = time.Second
	none := func(func() time.Duration) []stoic.Policy { return nil }
	retries := func(most time.Duration) func(func() time.Duration) []stoic.Policy {
		return func(func() time.Duration) []stoic.Policy {
			wait := func(n int, _ time.Duration, rand func() float64) time.Duration {
				mean := min(most, 5*s<<min(n, 20))
				return time.Duration(-math.Log(1-rand()) * float64(mean))
			}
			return []stoic.Policy{retry.New(retry.MaxAttempts(6), retry.WithBackoff(retry.BackoffFunc(wait)))}
		}
	}
	simple := func(open time.Duration) func(func() time.Duration) []stoic.Policy {
		return func(func() time.Duration) []stoic.Policy {
			return []stoic.Policy{breaker.New("server", breaker.ConsecutiveFailures(2), breaker.Probes(2), breaker.OpenFor(open))}
		}
	}
	doubling := func(most time.Duration) func(func() time.Duration) []stoic.Policy {
		return func(now func() time.Duration) []stoic.Policy {
			return []stoic.Policy{stoic.PolicyFunc("doubling breaker", (&doublingBreaker{now: now, most: most}).run)}
		}
	}
	return []PatternConfig{
		{"SP CTO 2", 2 * s, none, [6][2]float64{{1160, 865}, {977, 743}, {846, 656}, {747, 589}, {670, 538}, {616, 500}}},
		{"SP CTO 40", 40 * s, none, [6][2]float64{{1158, 1033}, {974, 854}, {842, 724}, {744, 628}, {668, 552}, {616, 500}}},
		{"RP MBO 10", 2 * s, retries(10 * s), [6][2]float64{{1308, 625}, {1118, 586}, {984, 560}, {875, 539}, {780, 522}, {691, 500}}},
		{"RP MBO 20", 2 * s, retries(20 * s), [6][2]float64{{1383, 594}, {1187, 570}, {1040, 552}, {913, 537}, {794, 522}, {694, 500}}},
		{"RP MBO 40", 2 * s, retries(40 * s), [6][2]float64{{1488, 581}, {1271, 564}, {1096, 550}, {939, 536}, {800, 522}, {695, 500}}},
		{"SCB 10", 2 * s, simple(10 * s), [6][2]float64{{1257, 606}, {1073, 578}, {934, 556}, {831, 540}, {735, 524}, {640, 500}}},
		{"SCB 20", 2 * s, simple(20 * s), [6][2]float64{{1361, 572}, {1174, 556}, {1036, 544}, {926, 534}, {810, 523}, {665, 499}}},
		{"SCB 40", 2 * s, simple(40 * s), [6][2]float64{{1582, 553}, {1395, 544}, {1257, 537}, {1133, 531}, {969, 523}, {716, 500}}},
		{"DCB 20", 2 * s, doubling(20 * s), [6][2]float64{{1335, 579}, {1144, 563}, {997, 548}, {878, 538}, {761, 524}, {647, 499}}},
		{"DCB 40", 2 * s, doubling(40 * s), [6][2]float64{{1453, 569}, {1238, 558}, {1064, 548}, {916, 538}, {776, 524}, {651, 500}}},
	}
}

// doublingBreaker opens for 10 s, and for twice as long each time that a probe fails.
// Package breaker has a fixed time, so this one is written by hand, for one client.
type doublingBreaker struct {
	now  func() time.Duration
	most time.Duration

	open, until time.Duration // for how long, until when; 0 is closed
	failures    int
	successes   int
}

func (b *doublingBreaker) run(ctx context.Context, next stoic.Next) error {
	halfOpen := b.open > 0
	if halfOpen && b.now() < b.until {
		return &stoic.Rejection{Pipeline: next.Pipeline(), Policy: stoic.KindBreaker, Reason: "open", Err: breaker.ErrOpen, Type: "circuit_open"}
	}
	err := next.Do(ctx)
	switch {
	case halfOpen && err != nil:
		b.open = min(2*b.open, b.most)
		b.until, b.successes = b.now()+b.open, 0
	case halfOpen:
		if b.successes++; b.successes == 2 {
			b.open, b.failures, b.successes = 0, 0, 0
		}
	case err != nil:
		if b.failures++; b.failures == 2 {
			b.open = min(10*time.Second, b.most)
			b.until = b.now() + b.open
		}
	default:
		b.failures = 0
	}
	return err
}

var (
	errConnect  = errors.New("experiments: connect timeout")
	errResponse = errors.New("experiments: response timeout")
)

// patternServer is the server of one client: it goes down right after every tenth
// request that it begins. It is repaired from the end of that request on: with the
// repair beside the last service, as the text can be read too, the published times come
// out 4 to 10 % shorter.
type patternServer struct {
	c              lab.Call
	connectTimeout time.Duration
	repair         time.Duration // mean; 0 is a server that is always up
	begun          int
	downUntil      time.Duration
	contention     time.Duration // time in connecting and in service
}

func (s *patternServer) call(ctx context.Context) error {
	start := s.c.Now()
	defer func() { s.contention += s.c.Now() - start }()
	if down := s.downUntil - start; down > 0 {
		timeout := s.c.Draw(lab.Erlang(100, s.connectTimeout))
		if err := s.c.Sleep(ctx, min(down, timeout)); err != nil {
			return err
		}
		if timeout < down {
			return errConnect
		}
	}
	s.begun++
	const timeout = 10 * time.Second
	service := s.c.Draw(lab.Exp(5 * time.Second))
	if err := s.c.Sleep(ctx, min(service, timeout)); err != nil {
		return err
	}
	if s.begun%10 == 0 && s.repair > 0 {
		s.downUntil = s.c.Now() + s.c.Draw(lab.Exp(s.repair))
	}
	if service > timeout {
		return errResponse
	}
	return nil
}

// PatternScenario is E9: so many clients, each with a server of its own, call until they
// have had 100 successes. total and contention get the seconds of each client.
func PatternScenario(cfg PatternConfig, availability float64, clients int, total, contention []float64) lab.Scenario {
	repair := time.Duration((1/availability - 1) * 50 * float64(time.Second))
	return lab.Scenario{
		Name:     "breaker-vs-retry",
		Duration: time.Second,
		Drain:    1000 * time.Hour,
		Window:   time.Hour,
		Clients:  lab.Clients{Burst: clients},
		Op: func(ctx context.Context, c lab.Call) error {
			server := &patternServer{c: c, connectTimeout: cfg.ConnectTimeout, repair: repair}
			p, err := stoic.New("server", cfg.Layers(c.Now)...)
			if err != nil {
				return err
			}
			for successes := 0; successes < 100; {
				if err := c.Sleep(ctx, c.Draw(lab.Exp(time.Second))); err != nil {
					return err
				}
				if p.Do(ctx, server.call) == nil {
					successes++
				}
			}
			i := int(c.Number())
			total[i], contention[i] = c.Now().Seconds(), server.contention.Seconds()
			return nil
		},
	}
}

// BreakerRetry is E9, breaker-vs-retry: Mendonça and others, ICSA 2020.
func BreakerRetry(size Size) (*Report, error) {
	clients, columns := 600, []int{0, 3, 5}
	if size == Full {
		clients, columns = 2000, []int{0, 1, 2, 3, 4, 5}
	}
	r := &Report{}
	configs, availabilities := PatternConfigs(), PatternAvailabilities()
	type cell struct{ total, contention sample }
	cells := make([]cell, len(configs)*len(columns))
	err := parallel(len(cells), func(i int) error {
		cfg, column := configs[i/len(columns)], columns[i%len(columns)]
		cells[i] = cell{make(sample, clients), make(sample, clients)}
		sc := PatternScenario(cfg, availabilities[column], clients, cells[i].total, cells[i].contention)
		sc.Seed = 1
		res, err := lab.Run(sc, func(*lab.Env) *stoic.Pipeline { return stoic.MustNew("client") })
		if err != nil {
			return err
		}
		r.tied(res)
		return nil
	})
	if err != nil {
		return nil, err
	}
	half := make(map[string]cell)
	for i, c := range cells {
		cfg, column := configs[i/len(columns)], columns[i%len(columns)]
		want, availability := cfg.want[column], availabilities[column]
		name := fmt.Sprintf("%s, availability %v: ", cfg.Name, availability)
		r.meanNear(name+"total, s", c.total, want[0], 0.015*want[0], 20_000)
		r.meanNear(name+"contention, s", c.contention, want[1], 0.015*want[1], 20_000)
		if availability == 0.5 {
			half[cfg.Name] = c
		}
	}
	order := []string{"SP CTO 2", "SCB 10", "RP MBO 10", "DCB 20", "SCB 20", "RP MBO 20", "DCB 40", "RP MBO 40", "SCB 40"}
	for i, name := range order[1:] {
		shorter := half[order[i]].total.mean()
		r.atLeast(fmt.Sprintf("total of %s ÷ %s", name, order[i]), half[name].total.mean()/shorter, 1)
	}
	fall := 1 - half["RP MBO 10"].contention.mean()/half["SP CTO 2"].contention.mean()
	r.atLeast("contention falls from SP CTO 2 to RP MBO 10 by", fall, 0.27)
	for _, tt := range []struct {
		name             string
		halfOpen, openes time.Duration
		want, tolerance  float64
	}{
		{"misconfigured", 250 * time.Millisecond, 2 * time.Second, 4.67, 0.1},
		{"tuned", 50 * time.Millisecond, 30 * time.Second, 0.07, 0.005},
	} {
		got, err := probeTime(r, tt.halfOpen, tt.openes)
		if err != nil {
			return nil, err
		}
		r.near("42 servers down, breakers "+tt.name+": threads that probe", got, tt.want, tt.tolerance)
	}
	return r, nil
}

// probeTime is how many threads are busy with probes when 42 servers hang, each behind a
// breaker that is probed as soon as it is half-open (Shopify 2020).
func probeTime(r *Report, halfOpen, open time.Duration) (float64, error) {
	const servers = 42
	length := 100 * (halfOpen + open)
	results, err := r.run(lab.Scenario{
		Name:     "hung servers",
		Duration: length,
		Drain:    time.Nanosecond,
		Clients:  lab.Clients{Processes: servers, Burst: servers},
		Faults:   []lab.Fault{{Kind: lab.BlackHole, To: 2 * length}},
	}, func(*lab.Env) *stoic.Pipeline {
		return stoic.MustNew("client",
			retry.New(retry.Unlimited(), retry.Constant(0), retry.If(func(error) bool { return true }), retry.MaxRetryAfter(time.Hour)),
			breaker.New("server", breaker.ConsecutiveFailures(1), breaker.OpenFor(open)),
			deadline.New(halfOpen))
	}, 1)
	if err != nil {
		return 0, err
	}
	return float64(results[0].Attempts) * halfOpen.Seconds() / length.Seconds(), nil
}
