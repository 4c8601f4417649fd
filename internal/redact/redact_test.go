package redact_test

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic/internal/redact"
)

func TestText(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"no URL", "dial tcp 10.0.0.1:443: connection refused", "dial tcp 10.0.0.1:443: connection refused"},
		{"nothing to hide", "GET https://host:8080/a/b", "GET https://host:8080/a/b"},
		{"scheme only", "https://", "https://"},
		{"userinfo", "https://user:s3cr3t@host/path", "https://host/path"},
		{"userinfo without a path", "redis://:s3cr3t@host:6379", "redis://host:6379"},
		{"at sign in a password", "https://user:s3cr3t@s3cr3t@host/path", "https://host/path"},
		{"at sign in a path", "https://host/@scope/pkg", "https://host/@scope/pkg"},
		{"query", "https://host/path?token=hunter2", "https://host/path"},
		{"query without a path", "https://host?token=hunter2", "https://host"},
		{"fragment", "https://host/path#token=hunter2", "https://host/path"},
		{"fragment before question mark", "https://host/path#hunter2?hunter2", "https://host/path"},
		{"all of it", "https://user:s3cr3t@host/path?token=hunter2#hunter2", "https://host/path"},
		{"as net/http prints it", `Get "https://user:***@host/path?token=hunter2": EOF`, `Get "https://host/path": EOF`},
		{"colon after", "GET https://host/path?token=hunter2: EOF", "GET https://host/path: EOF"},
		{"punctuation after", "(see https://host/path?token=hunter2).", "(see https://host/path)."},
		{"IPv6", "https://u:s3cr3t@[::1]:8443/x?hunter2", "https://[::1]:8443/x"},
		{"two", "https://a/b?hunter2 and https://u:s3cr3t@c/d", "https://a/b and https://c/d"},
		{"list", "http://u:s3cr3t@a:1,http://u:s3cr3t@b:2", "http://a:1,http://b:2"},
		{"URL in a path", "https://proxy/https://u:s3cr3t@host/path?hunter2", "https://proxy/https://host/path"},
		{"URL in a query", "https://host/path?next=https://other/?token=hunter2", "https://host/path"},
		{"lines", "https://a/b?hunter2\nhttps://c/d?hunter2\tend", "https://a/b\nhttps://c/d\tend"},
		{"non-ASCII", "“https://host/pfad-ü?hunter2” ü", "“https://host/pfad-ü ü"},

		// A query may hold anything but its own end.
		{"apostrophe in a query", "https://host/path?name=o'hunter2&token=hunter2", "https://host/path"},
		{"quoted, apostrophe", `Get "https://host/path?a='b'&token=hunter2": EOF`, `Get "https://host/path": EOF`},
		{"quoted, space", `Get "https://host/path?a=b c&token=hunter2": EOF`, `Get "https://host/path": EOF`},
		{"quoted, brackets", `Get "https://host/path?a=<b>&token=hunter2": EOF`, `Get "https://host/path": EOF`},
		{"quoted, quote", `Get "https://host/path?a=\"b\"&token=hunter2": EOF`, `Get "https://host/path": EOF`},
		{"quoted, backslash before the cut", `Get "https://host/path\?token=hunter2": EOF`, `Get "https://host/path": EOF`},
		{"quoted twice", `say "Get \"https://host/path?a=b c&token=hunter2\": EOF"`, `say "Get \"https://host/path\": EOF"`},
		{"single quotes", "get 'https://host/path?token=hunter2': EOF", "get 'https://host/path': EOF"},
		{"back quotes", "get `https://host/path?token=hunter2 hunter2`: EOF", "get `https://host/path`: EOF"},
		{"angle brackets", "get <https://host/path?token=hunter2 hunter2>: EOF", "get <https://host/path>: EOF"},
		{"quote not closed", "Get \"https://host/path?token=hunter2 hunter2\nEOF", "Get \"https://host/path\nEOF"},
		{"single quote not closed", "Get 'https://host/path?token=hunter2 hunter2\r\nEOF", "Get 'https://host/path\r\nEOF"},
		{"back quote not closed", "Get `https://host/path?token=hunter2 hunter2\nEOF`", "Get `https://host/path\nEOF`"},
		{"angle bracket not closed", "Get <https://host/path?token=hunter2 hunter2\nEOF>", "Get <https://host/path\nEOF>"},
		{"backslash at the end of the line", "Get \"https://host/path?token=hunter2\\\nEOF\"", "Get \"https://host/path\\\nEOF\""},
		{"HTML", "<a href=https://host/path?token=hunter2>click</a>", "<a href=https://host/path>click</a>"},
		{"HTML end tag", "<p>https://host/path?token=hunter2</p>", "<p>https://host/path</p>"},
		{"JSON", `{"url":"https://host/path?token=hunter2","status":503}`, `{"url":"https://host/path","status":503}`},
		{"JSON text", `{"message":"see https://host/path?token=hunter2","status":503}`, `{"message":"see https://host/path","status":503}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := redact.Text(tt.in)
			if got != tt.want {
				t.Errorf("Text(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
			for _, secret := range []string{"s3cr3t", "hunter2"} {
				if strings.Contains(got, secret) {
					t.Errorf("Text(%q) = %q, which contains %q", tt.in, got, secret)
				}
			}
			if again := redact.Text(got); again != got {
				t.Errorf("Text(%q) = %q, want it unchanged", got, again)
			}
		})
	}
}

func TestTextWithoutURLDoesNotAllocate(t *testing.T) {
	const s = "dial tcp 10.0.0.1:443: connection refused"
	if got := testing.AllocsPerRun(100, func() { redact.Text(s) }); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

// An error may hold what a server sent, and log lines are written on the path of
// the call: no text may take more than linear time.
func TestTextTakesLinearTime(t *testing.T) {
	for _, unit := range []string{
		"http://a ", `"http://a `, `"http://a \"`, `"http://a" `, `\"http://a `, "'http://a ", "<http://a ", "`http://a ",
		"http://u@a,", "http://a\n", "://", `\`, `\"`, `"`, "?", "@", "a",
	} {
		s := `"http://a` + strings.Repeat(unit, 20_000)
		best := time.Duration(math.MaxInt64)
		for range 3 {
			start := time.Now()
			redact.Text(s)
			best = min(best, time.Since(start))
		}
		// It takes a few milliseconds; quadratic time would be seconds.
		if limit := 500 * time.Millisecond; best > limit {
			t.Errorf("%q: %v for %d bytes, want less than %v", unit, best, len(s), limit)
		}
	}
}

type badError struct{ text string }

func (e *badError) Error() string { return e.text }

func TestError(t *testing.T) {
	wrapped := &url.Error{Op: "Get", URL: "https://user:s3cr3t@host/path?token=hunter2", Err: errors.New("EOF")}
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"nil", nil, ""},
		{"plain", errors.New("boom"), "boom"},
		{"url.Error", wrapped, `Get "https://host/path": EOF`},
		{"wrapped", fmt.Errorf("call: %w", wrapped), `call: Get "https://host/path": EOF`},
		{"joined", errors.Join(wrapped, wrapped), "Get \"https://host/path\": EOF\nGet \"https://host/path\": EOF"},
		{"nil pointer", (*badError)(nil), "<nil>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := redact.Error(tt.err); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
