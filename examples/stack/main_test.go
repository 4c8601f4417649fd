package main

import (
	"strings"
	"testing"
)

func TestRun_RetriesHideTheFailures(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	// The third and the sixth request fail.
	want := "order 0: 200 OK, paid\norder 1: 200 OK, paid\norder 2: 200 OK, paid\n" +
		"order 3: 200 OK, paid\norder 4: 200 OK, paid\n5 calls, 7 requests\n"
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
