package source

import (
	"fmt"
	"strings"
)

// Error is a mistake at one place of a file.
type Error struct {
	File         string
	Line, Column int    // from 1; 0 when it is about the whole file
	Path         string // of the value: "layers[1].retry.max_attempts"; empty for the whole document
	Reason       string // what is wrong, and what was expected
}

// Error reads like `stack.yaml:4:21: layers[1].retry.max_attempts: got "x", expected …`.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Reason)
	return b.String()
}
