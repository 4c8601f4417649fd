// Package redact removes what may be secret from the text of errors.
package redact

import (
	"fmt"
	"strings"
)

// Text returns s with the user information, the query and the fragment of each
// URL in it cut off: scheme, host and path remain. An error of net/http carries
// the whole URL of the request, and a token in its query ends up in every log
// line that prints the error.
//
// A URL in quotes ends at the closing quote, another one at the first character
// that no URL has, both at the end of the line. Where that is not clear, more is
// cut rather than less. A URL that is malformed, with a raw "/", "?" or "#" in
// its password, is beyond it.
func Text(s string) string {
	i := strings.Index(s, mark)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i >= 0 {
		begin := i + len(mark)
		end := begin + length(s[:i], s[begin:])
		b.WriteString(s[:begin])
		b.WriteString(strip(s[begin:end]))
		s = s[end:]
		i = strings.Index(s, mark)
	}
	b.WriteString(s)
	return b.String()
}

// Error is [Text] of the error's message, "" for nil. It does not panic where
// the Error method does: a log line must not break a call.
func Error(err error) string {
	if err == nil {
		return ""
	}
	return Text(fmt.Sprint(err))
}

// mark is what a URL is recognized by.
const mark = "://"

// length returns how much of rest, which follows "://", belongs to the URL.
// before ends with the scheme. It looks at no more than that part of rest, so
// that Text takes linear time.
func length(before, rest string) int {
	before = strings.TrimRightFunc(before, inScheme)
	quote := byte(0)
	if before != "" {
		quote = before[len(before)-1]
	}
	switch quote {
	case '"':
		// net/http prints the URL with %q, and a query may hold blanks,
		// apostrophes and escaped quotes: only the closing quote ends it.
		return unescaped(rest, backslashes(before[:len(before)-1]))
	case '\'':
		return upTo(rest, "\r\n'")
	case '`':
		return upTo(rest, "\r\n`")
	case '<':
		return upTo(rest, "\r\n>")
	default:
		return upTo(rest, "\r\n \t\"`<>")
	}
}

func upTo(s, chars string) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return len(s)
}

// unescaped finds the first quote that no more than depth backslashes escape, or
// the end of the line.
func unescaped(s string, depth int) int {
	from := 0
	for {
		i := from + upTo(s[from:], "\r\n\"")
		if i == len(s) || s[i] != '"' || backslashes(s[from:i]) <= depth {
			return i
		}
		from = i + 1
	}
}

// backslashes counts those at the end of s.
func backslashes(s string) int {
	return len(s) - len(strings.TrimRight(s, `\`))
}

// strip takes a URL from behind its "://".
func strip(url string) string {
	// Punctuation right after a URL is not part of it: "GET https://host/path: EOF".
	rest := strings.TrimRight(url, `:,;.)\`)
	tail := url[len(rest):]
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		// A backslash in front of the cut would escape the quote after it.
		rest = strings.TrimRight(rest[:i], `\`)
	}
	// There may be others inside: a list of endpoints, a proxy's path.
	urls := strings.Split(rest, mark)
	for i, u := range urls {
		urls[i] = withoutUser(u)
	}
	return strings.Join(urls, mark) + tail
}

func withoutUser(url string) string {
	authority := url
	if i := strings.IndexByte(url, '/'); i >= 0 {
		authority = url[:i]
	}
	return url[strings.LastIndexByte(authority, '@')+1:]
}

func inScheme(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '+', r == '-', r == '.':
		return true
	default:
		return false
	}
}
