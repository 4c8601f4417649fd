package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shortScript has every phase of the real one. The breaker stays open for a second there
// too, so the last phase is the longest.
var shortScript = []phase{
	{name: "healthy", mode: healthy, lasts: 200 * time.Millisecond},
	{name: "30 % get 503", mode: flaky, lasts: 700 * time.Millisecond},
	{name: "hangs", mode: hanging, lasts: 900 * time.Millisecond},
	{name: "healthy again", mode: healthy, lasts: 1400 * time.Millisecond},
}

// TestRun plays the script once: real requests take real time.
func TestRun(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), &out, shortScript, false); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
	for _, want := range []string{
		"\na call that succeeded at once\n  charge ",
		"\na call that a retry saved\n  charge ",
		"\na call whose attempts ran out\n  charge ",
		"\na call that the breaker rejected\n  charge ",
	} {
		if n := strings.Count(out.String(), want); n != 1 {
			t.Errorf("%q is %d times in the output, want 1", want, n)
		}
	}
	calls := cells(t, out.String(), "calls", 4)
	for i, n := range calls {
		if n, err := strconv.Atoi(n); err != nil || n == 0 {
			t.Errorf("phase %d has %q calls, want some", i, calls[i])
		}
	}
	if got, want := cells(t, out.String(), "payments, in the end", 4), []string{"closed", "closed", "open", "closed"}; !slices.Equal(got, want) {
		t.Errorf("the breaker is %v, want %v", got, want)
	}
	if got := cells(t, out.String(), "extra attempts per call sent", 4); got[0] != "0.00" || got[1] <= "0.00" {
		t.Errorf("extra attempts per call sent = %v, want exactly 0, then more", got)
	}
	if secret := regexp.MustCompile(`order-\d|127\.0\.0\.1`).FindString(out.String()); secret != "" {
		t.Errorf("the telemetry holds %q, which is different for each call or server", secret)
	}
}

// cells returns the numbers of a row of the table.
func cells(t *testing.T, out, row string, n int) []string {
	t.Helper()
	for l := range strings.Lines(out) {
		if _, rest, ok := strings.Cut(l, " "+row+" "); ok {
			if got := strings.Fields(rest); len(got) == n {
				return got
			}
			t.Fatalf("%q has not %d cells", l, n)
		}
	}
	t.Fatalf("no row %q in:\n%s", row, out)
	return nil
}

// TestRun_JSON reads what the stdout exporters print.
func TestRun_JSON(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := run(t.Context(), &out, []phase{
		{name: "healthy", mode: healthy, lasts: 100 * time.Millisecond},
		{name: "30 % get 503", mode: flaky, lasts: 300 * time.Millisecond},
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	spans, metrics, exports := make(map[string]int), make(map[string]int), 0
	for d := json.NewDecoder(strings.NewReader(out.String())); ; {
		var v struct {
			Name         string // of a span
			ScopeMetrics []struct{ Metrics []struct{ Name string } }
		}
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, &out)
		}
		if v.Name != "" {
			spans[v.Name]++
			continue
		}
		exports++
		for _, scope := range v.ScopeMetrics {
			for _, m := range scope.Metrics {
				metrics[m.Name]++
			}
		}
	}
	if spans["charge"] == 0 || spans["attempt charge"] <= spans["charge"] {
		t.Errorf("spans = %v, want calls and more attempts", spans)
	}
	if exports != 1 {
		t.Errorf("%d exports of metrics, want 1", exports)
	}
	for _, name := range []string{
		"stoic.call.duration", "stoic.call.attempts", "stoic.attempt.duration", "stoic.breaker.status",
		"stoic.retry.delay", "stoic.budget.utilization",
	} {
		if metrics[name] != 1 {
			t.Errorf("%s is %d times in the output, want 1", name, metrics[name])
		}
	}
}

func TestRun_EndsWhenTheUserInterrupts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, nil)
	defer cancel()
	var out strings.Builder
	err := run(ctx, &out, []phase{
		{name: "endless", mode: hanging, lasts: time.Hour}, {name: "never", mode: healthy, lasts: time.Hour},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "answers every request") {
		t.Errorf("the next phase began, in:\n%s", &out)
	}
	if _, table, _ := strings.Cut(out.String(), "FIVE QUESTIONS"); !strings.Contains(table, "endless") || strings.Contains(table, "never") {
		t.Errorf("the table must have one column, in:\n%s", &out)
	}
}

func TestServer_RefusesThreeOfTenOrders(t *testing.T) {
	s := &server{mode: flaky, busy: make(map[string]int)}
	refused := make(map[string]int)
	for range 4 { // attempts
		for n := range 20 {
			order := strconv.Itoa(n)
			if _, refuse := s.decide(order); refuse {
				refused[order]++
			}
		}
	}
	for n := range 20 {
		want := map[int]int{1: 1, 4: 2, 7: 4}[n%10]
		if got := refused[strconv.Itoa(n)]; got != want {
			t.Errorf("order %d is refused %d times, want %d", n, got, want)
		}
	}
	s.enter(healthy)
	if m, refuse := s.decide("7"); m != healthy || refuse {
		t.Errorf("a healthy server: mode %d, refuses %v", m, refuse)
	}
}

func TestStackHasNoFindings(t *testing.T) {
	to := readable(io.Discard, script)
	tracers, meters := to.providers()
	stack, err := newStack(tracers, meters)
	if err != nil {
		t.Fatal(err)
	}
	if fs := stack.Vet(); len(fs) > 0 {
		t.Error(fs)
	}
}
