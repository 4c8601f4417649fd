package source

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Node is a value of a file, and where it stands. A nil *Node is a value that is not
// there; its methods may be called.
type Node struct {
	file         *File
	Line, Column int
	Path         string
	text         string  // of a scalar, as it is written
	value        any     // of a scalar: nil, bool, int64, uint64, float64 or string
	fields       []field // of a mapping
	items        []*Node // of a sequence
	shape        shape
}

type shape uint8

const (
	scalar shape = iota
	mapping
	sequence
)

type field struct {
	name         string
	line, column int // of the name
	value        *Node
}

// Get returns the value of that name in a mapping; nil if there is none.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	for _, f := range n.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// Has reports whether there is a value of that name.
func (n *Node) Has(name string) bool { return n.Get(name) != nil }

// Only returns the name and the value of a mapping that has one.
func (n *Node) Only() (string, *Node) { return n.fields[0].name, n.fields[0].value }

// Len is how many names a mapping has.
func (n *Node) Len() int { return len(n.fields) }

// Items returns the values of a sequence.
func (n *Node) Items() []*Node {
	if n == nil {
		return nil
	}
	return n.items
}

// IsMapping reports whether the value has names in it.
func (n *Node) IsMapping() bool { return n != nil && n.shape == mapping }

// IsSequence reports whether the value is a list.
func (n *Node) IsSequence() bool { return n != nil && n.shape == sequence }

// Text returns a string; "" if there is none.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	s, _ := n.value.(string)
	return s
}

// True reports whether the value is true.
func (n *Node) True() bool { return n != nil && n.value == true }

// Float returns a number; 0 if there is none.
func (n *Node) Float() float64 {
	if n == nil {
		return 0
	}
	switch v := n.value.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		return v
	default:
		return 0
	}
}

// Int returns a whole number, at most the largest int32; 0 if there is none. Schemas
// refuse what is above.
func (n *Node) Int() int { return int(min(max(n.Float(), math.MinInt32), math.MaxInt32)) }

// Duration returns a text like 500ms as a duration; 0 if there is none. Schemas refuse
// what is not of that form.
func (n *Node) Duration() time.Duration {
	d, err := time.ParseDuration(n.Text())
	if err != nil {
		return 0
	}
	return d
}

// Errorf is a mistake in the value.
func (n *Node) Errorf(format string, args ...any) *Error {
	return &Error{File: n.file.Name, Line: n.Line, Column: n.Column, Path: n.Path, Reason: fmt.Sprintf(format, args...)}
}

// String shows the value in an error: as it is written, with quotes around a text.
func (n *Node) String() string {
	switch {
	case n.shape == mapping:
		return "a mapping"
	case n.shape == sequence:
		return "a list"
	case n.value == nil:
		return "nothing"
	}
	if s, ok := n.value.(string); ok {
		return strconv.Quote(shortened(s))
	}
	return shortened(n.text)
}

func shortened(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// at finds the value at a JSON pointer's parts.
func (n *Node) at(location []string) *Node {
	for _, part := range location {
		if n.shape == sequence {
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(n.items) {
				return n
			}
			n = n.items[i]
			continue
		}
		inner := n.Get(part)
		if inner == nil {
			return n
		}
		n = inner
	}
	return n
}

// plain is the value as package encoding/json would read it.
func (n *Node) plain() any {
	switch n.shape {
	case mapping:
		m := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			m[f.name] = f.value.plain()
		}
		return m
	case sequence:
		s := make([]any, len(n.items))
		for i, item := range n.items {
			s[i] = item.plain()
		}
		return s
	default:
		return n.value
	}
}

// File is the name of the file.
func (n *Node) File() string { return n.file.Name }

// Raw is a scalar as it is written, without quotes.
func (n *Node) Raw() string {
	if s, ok := n.value.(string); ok {
		return s
	}
	return n.text
}
