package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestScenarioIsChosenAndWritten(t *testing.T) {
	raw := filepath.Join(t.TempDir(), "raw.txt")
	var out bytes.Buffer
	err := run([]string{"-rounds", "1", "-slice", "100us", "-scenario", "^breaker", "-raw", raw}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"breaker, closed\n", "breaker, open\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "full stack") || !strings.Contains(string(lines), "BenchmarkPeers/breaker_open/stoic-1 1 ") {
		t.Errorf("printed\n%s\nwrote\n%s", out.String(), lines)
	}
}

func TestPageIsWritten(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := run([]string{"-rounds", "1", "-slice", "100us", "-write", page}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.HasPrefix(string(text), "# Benchmarks\n") {
		t.Errorf("%v, %.100s", err, text)
	}
}

func TestBadArguments(t *testing.T) {
	for _, args := range [][]string{
		{"-rounds", "0"},
		{"-slice", "-1s"},
		{"-scenario", "["},
		{"-scenario", "no such thing"},
		{"-scenario", "full", "-write", "page.md"},
		{"-unknown"},
		{"argument"},
	} {
		if err := run(args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
	if err := run([]string{"-h"}, io.Discard, io.Discard); err != nil {
		t.Errorf("-h: %v", err)
	}
}

func TestCurvesArePrinted(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-curves", "-rounds", "1", "-slice", "100us"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "64") || !strings.Contains(out.String(), "full stack") {
		t.Errorf("got\n%s", out.String())
	}
}
