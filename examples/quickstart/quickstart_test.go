package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// shortScript has every phase of the real one. The breaker stays open for a second
// there too, so the last phase is the longest.
var shortScript = []phase{
	{name: "healthy", mode: healthy, lasts: 300 * time.Millisecond},
	{name: "30 % answer 503", mode: flaky, lasts: 500 * time.Millisecond},
	{name: "hangs", mode: hanging, lasts: 700 * time.Millisecond},
	{name: "down", mode: down, lasts: 200 * time.Millisecond},
	{name: "healthy again", mode: healthy, lasts: 1600 * time.Millisecond},
}

// TestRun plays the script once: real requests take real time.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, shortScript); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
	t.Run("the summary adds up", func(t *testing.T) { checkSummary(t, out.String()) })
	t.Run("the breaker opens, probes and closes", func(t *testing.T) { checkBreaker(t, out.String()) })
	for _, want := range []string{
		"status 503 → try again",
		"succeeded on a later attempt",
		"call rejected, not sent: circuit breaker is open",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in the output", want)
		}
	}
}

func checkSummary(t *testing.T, out string) {
	t.Helper()
	var sum row
	for _, p := range shortScript {
		r := findRow(t, out, p.name)
		r.check(t, p.name)
		sum.calls += r.calls
		sum.succeeded += r.succeeded
		sum.failed += r.failed
		sum.rejected += r.rejected
		sum.attempts += r.attempts
	}
	total := findRow(t, out, "total")
	total.check(t, "total")
	sum.amplification = total.amplification
	if sum != total {
		t.Errorf("the phases sum up to %+v, the total is %+v", sum, total)
	}
	if total.calls == 0 || total.succeeded == 0 || total.failed == 0 || total.rejected == 0 {
		t.Errorf("total = %+v, want some of each", total)
	}
	// A call that was not rejected sent one attempt, and its retries.
	retries := total.attempts - (total.calls - total.rejected)
	for _, want := range []string{
		fmt.Sprintf("\nretries:  %d sent", retries),
		fmt.Sprintf("\nrejected: %d calls", total.rejected),
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in the output", want)
		}
	}
}

// checkBreaker follows the state through the output.
func checkBreaker(t *testing.T, out string) {
	t.Helper()
	state, changes, hung := "closed", 0, false
	for l := range strings.Lines(out) {
		hung = hung || strings.Contains(l, "SERVER hangs")
		what, ok := strings.CutPrefix(strings.TrimLeft(l, " .0123456789"), "s  breaker          ")
		if !ok {
			continue // not a change of state
		}
		change, _, _ := strings.Cut(what, ":")
		from, to, _ := strings.Cut(change, " → ")
		if from != state {
			t.Errorf("%s, but the breaker was %s", change, state)
		}
		if !hung {
			t.Errorf("%s before the server hung: 30 %% of failures must not trip it", change)
		}
		state = strings.ToLower(to)
		changes++
	}
	if changes < 3 || state != "closed" {
		t.Errorf("%d changes of the breaker, and it ended %s; want it to open, to probe and to close", changes, state)
	}
}

func TestRun_EndsWhenTheUserInterrupts(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, nil)
	defer cancel()
	var out bytes.Buffer
	if err := run(ctx, &out, []phase{{name: "endless", mode: hanging, lasts: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\nSUMMARY\n") {
		t.Errorf("no summary in:\n%s", &out)
	}
}

// row is a line of the table.
type row struct {
	calls, succeeded, failed, rejected, attempts int
	amplification                                string
}

func findRow(t *testing.T, output, name string) row {
	t.Helper()
	_, summary, ok := strings.Cut(output, "\nSUMMARY\n")
	if !ok {
		t.Fatalf("no summary in:\n%s", output)
	}
	for l := range strings.Lines(summary) {
		cells, ok := strings.CutPrefix(l, name+" ")
		fields := strings.Fields(cells)
		if !ok || len(fields) != 6 {
			continue
		}
		var numbers [5]int
		for i := range numbers {
			n, err := strconv.Atoi(fields[i])
			if err != nil {
				t.Fatalf("%q: %v", l, err)
			}
			numbers[i] = n
		}
		return row{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], fields[5]}
	}
	t.Fatalf("no row %q in:\n%s", name, summary)
	return row{}
}

func (r row) check(t *testing.T, name string) {
	t.Helper()
	if got := r.succeeded + r.failed + r.rejected; got != r.calls {
		t.Errorf("%s: succeeded + failed + rejected = %d, calls = %d", name, got, r.calls)
	}
	if got := r.calls - r.rejected; r.attempts < got {
		t.Errorf("%s: %d attempts for %d calls that were not rejected", name, r.attempts, got)
	}
	want := 0.0
	if r.calls > 0 {
		want = float64(r.attempts) / float64(r.calls)
	}
	if got := strconv.FormatFloat(want, 'f', 2, 64); got != r.amplification {
		t.Errorf("%s: amplification %s, attempts / calls = %s", name, r.amplification, got)
	}
}

func TestPrinter_CollapsesWhatRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := printer{w: &out, begin: time.Now()}
		p.add("retry", "again", 30*time.Millisecond)
		p.add("call", "done", 0)
		time.Sleep(collect - 1)
		p.add("retry", "again", 5*time.Millisecond)
		time.Sleep(time.Nanosecond)
		p.add("retry", "again", 7*time.Millisecond)
		p.note("breaker", "opens")
		p.headline("stops")
		p.add("call", "done", 0)
		p.flush()

		want := "  0.0s  retry        ×2  again after 5ms to 30ms\n" +
			"  0.0s  call         ×1  done\n" +
			"  1.5s  retry        ×1  again after 7ms\n" +
			"  1.5s  breaker          opens\n" +
			"  1.5s  ------ SERVER stops ------\n" +
			"  1.5s  call         ×1  done\n"
		if got := out.String(); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	})
}

func TestCheckStatus(t *testing.T) {
	for _, tt := range []struct {
		status int
		header string
		fails  bool
		after  time.Duration
		hinted bool
	}{
		{200, "", false, 0, false},
		{404, "", false, 0, false},
		{500, "", true, 0, false},
		{503, "1", true, time.Second, true},
		{503, "0", true, 0, true},
		{503, "-1", true, 0, false},
		{503, "soon", true, 0, false},
	} {
		t.Run(strconv.Itoa(tt.status)+" "+tt.header, func(t *testing.T) {
			resp := &http.Response{StatusCode: tt.status, Header: http.Header{"Retry-After": {tt.header}}}
			err := checkStatus(resp)
			if got := err != nil; got != tt.fails {
				t.Fatalf("checkStatus = %v, want an error: %v", err, tt.fails)
			}
			if !tt.fails {
				return
			}
			e := err.(*statusError) //nolint:errorlint // it must be that very type
			if after, hinted := e.RetryAfter(); after != tt.after || hinted != tt.hinted {
				t.Errorf("RetryAfter = %v, %v, want %v, %v", after, hinted, tt.after, tt.hinted)
			}
			if e.StatusCode() != tt.status {
				t.Errorf("StatusCode = %d, want %d", e.StatusCode(), tt.status)
			}
		})
	}
}
