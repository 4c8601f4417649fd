package settings_test

import (
	"errors"
	"testing"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/internal/settings"
)

// checked is one call of Check.
type checked struct {
	setting string
	ok      bool
	field   string
	value   any
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name   string
		checks []checked
		want   string // the text of Err; empty: nil
	}{
		{"none", nil, ""},
		{"all valid", []checked{{"a", true, "A", 1}, {"b", true, "B", 2}}, ""},
		{"one", []checked{{"a", false, "A", 0}}, "stoic: A(0): bad"},
		{"in the order made", []checked{{"b", false, "B", 1}, {"a", false, "A", 2}}, "stoic: B(1): bad\nstoic: A(2): bad"},
		{"a valid one takes back an invalid one", []checked{{"a", false, "A", 0}, {"a", true, "A", 1}}, ""},
		{"an invalid one after a valid one", []checked{{"a", true, "A", 1}, {"a", false, "A", 0}}, "stoic: A(0): bad"},
		{"of two invalid ones the last", []checked{{"a", false, "A", -1}, {"a", false, "A", -2}}, "stoic: A(-2): bad"},
		{"another option of the same setting", []checked{{"a", false, "FullA", 0}, {"a", true, "NoA", 1}}, ""},
		{"one of three taken back", []checked{
			{"a", false, "A", 0}, {"b", false, "B", 0}, {"c", false, "C", 0}, {"b", true, "B", 1},
		}, "stoic: A(0): bad\nstoic: C(0): bad"},
		{"a replaced one goes to the end", []checked{
			{"a", false, "A", 0}, {"b", false, "B", 0}, {"a", false, "A", 1},
		}, "stoic: B(0): bad\nstoic: A(1): bad"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p settings.Problems
			for _, c := range tt.checks {
				p.Check(c.setting, c.ok, c.field, c.value, "bad")
			}
			err := p.Err()
			if tt.want == "" {
				if err != nil {
					t.Errorf("got %v, want nil", err)
				}
				return
			}
			if err == nil || err.Error() != tt.want || !errors.Is(err, stoic.ErrInvalid) {
				t.Errorf("got %v, want %s, matching ErrInvalid", err, tt.want)
			}
		})
	}
}

func TestProblemHasItsData(t *testing.T) {
	var p settings.Problems
	p.Check("attempts", false, "MaxAttempts", 0, "must be at least 1")
	e, ok := errors.AsType[*stoic.InvalidError](p.Err())
	if !ok || e.Field != "MaxAttempts" || e.Value != 0 || e.Reason != "must be at least 1" || e.Pipeline != "" || e.Layer != 0 {
		t.Errorf("got %+v", e)
	}
}
