package redact_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stoic-go/stoic/internal/redact"
)

// secret is put wherever a URL can hold one.
const secret = "s3cr3t"

func FuzzText(f *testing.F) {
	f.Add("", "", "", "", "")
	f.Add("GET ", ": EOF", "user", "token", "frag")
	f.Add(`Get "`, `": EOF`, "@:/?#", "a=b c&d='e'", "#?@")
	f.Add("'a://b ", "' c://d?e", "x", `"\`, `\`)
	f.Add(`"a://b\?c" `, `\" x`, "\x00", "\n", "\xff")
	f.Add("<a://b@", "/c?d>", "://", "://", "://")
	f.Fuzz(func(t *testing.T, before, after, user, query, fragment string) {
		if strings.Contains(before+after, secret) {
			return // outside of a URL it stays
		}
		check(t, before+after)
		u := url.URL{
			Scheme:   "https",
			User:     url.UserPassword(secret+user, secret+user),
			Host:     "host.example:8443",
			Path:     "/path",
			RawQuery: "token=" + secret + url.QueryEscape(query) + secret,
			Fragment: fragment + secret,
		}
		check(t, before+u.String()+after)

		// As net/http prints it, which escapes nothing in the query.
		u.RawQuery = query + "&token=" + secret
		check(t, fmt.Sprintf("Get %q: %s", u.String(), after))
	})
}

// check holds Text to what it promises of every text.
func check(t *testing.T, s string) {
	t.Helper()
	got := redact.Text(s)
	if strings.Contains(got, secret) {
		t.Errorf("Text(%q) = %q, which contains the secret", s, got)
	}
	if again := redact.Text(got); again != got {
		t.Errorf("Text is not idempotent for %q:\n once %q\ntwice %q", s, got, again)
	}
}
