package breaker_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/retry"
)

func TestInvalidOptions(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		opt   breaker.Option
		field string
		value string
	}{
		{breaker.FailureRate(0, 1, time.Second), "FailureRate", "0, 1, 1s"},
		{breaker.FailureRate(-0.1, 1, time.Second), "FailureRate", "-0.1, 1, 1s"},
		{breaker.FailureRate(1.01, 1, time.Second), "FailureRate", "1.01, 1, 1s"},
		{breaker.FailureRate(nan, 1, time.Second), "FailureRate", "NaN, 1, 1s"},
		{breaker.FailureRate(math.Inf(1), 1, time.Second), "FailureRate", "+Inf, 1, 1s"},
		{breaker.FailureRate(0.5, 0, time.Second), "FailureRate", "0.5, 0, 1s"},
		{breaker.FailureRate(0.5, -1, time.Second), "FailureRate", "0.5, -1, 1s"},
		{breaker.FailureRate(0.5, math.MaxInt32+1, time.Second), "FailureRate", "0.5, 2147483648, 1s"},
		{breaker.FailureRate(0.5, 1, 0), "FailureRate", "0.5, 1, 0s"},
		{breaker.FailureRate(0.5, 1, -time.Second), "FailureRate", "0.5, 1, -1s"},
		{breaker.FailureRate(0.5, 1, 10*time.Millisecond-1), "FailureRate", "0.5, 1, 9.999999ms"},
		{breaker.FailureRate(0.5, 1, 24*time.Hour+1), "FailureRate", "0.5, 1, 24h0m0.000000001s"},
		{breaker.FailureRateOfLast(0, 1), "FailureRateOfLast", "0, 1"},
		{breaker.FailureRateOfLast(nan, 1), "FailureRateOfLast", "NaN, 1"},
		{breaker.FailureRateOfLast(2, 1), "FailureRateOfLast", "2, 1"},
		{breaker.FailureRateOfLast(0.5, 0), "FailureRateOfLast", "0.5, 0"},
		{breaker.FailureRateOfLast(0.5, 1e6+1), "FailureRateOfLast", "0.5, 1000001"},
		{breaker.ConsecutiveFailures(0), "ConsecutiveFailures", "0"},
		{breaker.ConsecutiveFailures(-3), "ConsecutiveFailures", "-3"},
		{breaker.ConsecutiveFailures(math.MaxInt32 + 1), "ConsecutiveFailures", "2147483648"},
		{breaker.OpenFor(0), "OpenFor", "0s"},
		{breaker.OpenFor(-time.Second), "OpenFor", "-1s"},
		{breaker.Probes(0), "Probes", "0"},
		{breaker.Probes(-1), "Probes", "-1"},
		{breaker.Probes(math.MaxInt32 + 1), "Probes", "2147483648"},
		{breaker.ProbeTimeout(0), "ProbeTimeout", "0s"},
		{breaker.ProbeTimeout(-1), "ProbeTimeout", "-1ns"},
		{breaker.SlowCall(0), "SlowCall", "0s"},
		{breaker.SlowCall(-time.Minute), "SlowCall", "-1m0s"},
		{breaker.Judge(nil), "Judge", "nil"},
		{nil, "Option", "nil"},
	}
	for _, tt := range tests {
		t.Run(tt.field+"("+tt.value+")", func(t *testing.T) {
			_, err := stoic.New("pay", retry.New(), breaker.New("db", tt.opt))
			invalid, ok := errors.AsType[*stoic.InvalidError](err)
			if !ok || !errors.Is(err, stoic.ErrInvalid) {
				t.Fatalf("got %v, want ErrInvalid", err)
			}
			if invalid.Layer != 2 || invalid.Field != tt.field || fmt.Sprint(invalid.Value) != tt.value || invalid.Reason == "" {
				t.Errorf("got %+v, want layer 2, %s(%s)", invalid, tt.field, tt.value)
			}
			want := fmt.Sprintf(`pay: layer 2 (breaker "db"): %s(%s): `, tt.field, tt.value)
			if !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %q, want it to begin with %q", err, want)
			}
		})
	}
}

func TestValidLimits(t *testing.T) {
	_, err := stoic.New("pay", breaker.New("db",
		breaker.FailureRate(1, math.MaxInt32, 10*time.Millisecond),
		breaker.FailureRateOfLast(math.SmallestNonzeroFloat64, 1e6),
		breaker.ConsecutiveFailures(math.MaxInt32), breaker.OpenFor(1), breaker.Probes(math.MaxInt32),
		breaker.ProbeTimeout(1), breaker.SlowCall(1)))
	if err != nil {
		t.Error(err)
	}
	if _, err = stoic.New("pay", breaker.New("db", breaker.FailureRate(1, 1, 24*time.Hour), breaker.FailureRateOfLast(1, 1))); err != nil {
		t.Error(err)
	}
}

func TestAllMistakesAreReported(t *testing.T) {
	_, err := stoic.New("pay", breaker.New("", breaker.Probes(0), breaker.OpenFor(0)))
	for _, want := range []string{`New("")`, "Probes(0)", "OpenFor(0s)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s in it", err, want)
		}
	}
}

// Of several that set the same, the last counts.
func TestLastOptionCounts(t *testing.T) {
	if _, err := stoic.New("pay", breaker.New("db", breaker.Probes(0), breaker.Probes(1))); err != nil {
		t.Errorf("a valid option after an invalid one: %v", err)
	}
	if _, err := stoic.New("pay", breaker.New("db", breaker.Probes(1), breaker.Probes(0))); err == nil {
		t.Error("an invalid option after a valid one is accepted")
	}
}

func TestZeroValueAndNilAreRefused(t *testing.T) {
	for name, b := range map[string]*breaker.Breaker{"zero value": {}, "nil": nil} {
		if _, err := stoic.New("pay", b); !errors.Is(err, stoic.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
	var zero breaker.Breaker
	if zero.State() != breaker.Closed || zero.Counts() != (breaker.Counts{}) || zero.Name() != "" {
		t.Errorf("zero value: %v, %+v, %q", zero.State(), zero.Counts(), zero.Name())
	}
}

func TestNameIsKept(t *testing.T) {
	if got := breaker.New("db").Name(); got != "db" {
		t.Errorf("got %q, want db", got)
	}
}

func TestStateString(t *testing.T) {
	want := map[breaker.State]string{breaker.Closed: "closed", breaker.HalfOpen: "half-open", breaker.Open: "open", 9: "unknown"}
	for state, text := range want {
		if got := state.String(); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}
