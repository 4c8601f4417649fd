// Package source reads YAML files strictly, keeps where each value stands, and checks
// them against a JSON Schema, so that a mistake has a file, a line and a column.
package source

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxSize is how large a file may be, in bytes.
const MaxSize = 256 << 10

// maxDepth is how deep values may be nested.
const maxDepth = 40

// File is a YAML file of one document.
type File struct {
	Name string
	Root *Node
}

// Read reads and parses a file, or stdin if the name is "-".
func Read(name string, stdin io.Reader) (*File, error) {
	in := stdin
	if name == "-" {
		name = "stdin"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, err // names the file
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, MaxSize+1))
	if err != nil {
		return nil, err
	}
	return Parse(name, data)
}

// Parse takes one YAML document apart. Of YAML it takes mappings with texts as names,
// lists and scalars; anchors, aliases, tags and several documents are refused, as is a
// name that stands twice. The error is an [*Error].
func Parse(name string, data []byte) (*File, error) {
	file := &File{Name: name}
	if len(data) > MaxSize {
		return nil, &Error{File: name, Reason: fmt.Sprintf("is larger than %d KiB", MaxSize>>10)}
	}
	if !utf8.Valid(data) {
		return nil, &Error{File: name, Reason: "is not a text in UTF-8"}
	}
	if depth := nesting(data); depth > maxDepth {
		return nil, &Error{File: name, Reason: fmt.Sprintf("is nested too deep, expected at most %d levels", maxDepth)}
	}
	parsed, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, file.syntaxError(err)
	}
	var docs []*ast.DocumentNode
	for _, doc := range parsed.Docs {
		if doc.Body != nil || doc.Start != nil {
			docs = append(docs, doc)
		}
	}
	switch {
	case len(docs) == 0 || docs[0].Body == nil:
		return nil, &Error{File: name, Line: 1, Column: 1, Reason: "the file is empty, expected a mapping"}
	case len(docs) > 1:
		e := &Error{File: name, Reason: "expected one document, not several divided by ---"}
		if start := docs[1].Start; start != nil {
			e.Line, e.Column = start.Position.Line, start.Position.Column
		}
		return nil, e
	}
	file.Root, err = file.node(docs[0].Body, "", 0)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// nesting is at least how deep the brackets are nested, so that the parser, which is
// recursive, is not asked to do it.
func nesting(data []byte) int {
	depth, most := 0, 0
	for _, c := range data {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		most = max(most, depth)
	}
	return most
}

func (f *File) syntaxError(err error) error {
	e := &Error{File: f.Name, Reason: "is not YAML: " + firstLine(err.Error())}
	yamlErr, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return e
	}
	message := firstLine(yamlErr.GetMessage())
	e.Reason = "is not YAML: " + message
	if t := yamlErr.GetToken(); t != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
	if strings.Contains(message, "already defined") {
		e.Reason = "this name stands twice: " + message
	}
	return e
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// node makes a Node of a part of the syntax tree.
func (f *File) node(n ast.Node, path string, depth int) (*Node, error) {
	node := &Node{file: f, Path: path}
	if t := n.GetToken(); t != nil {
		node.Line, node.Column = t.Position.Line, t.Position.Column
	}
	if depth > maxDepth {
		return nil, node.Errorf("is nested too deep, expected at most %d levels", maxDepth)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return f.mapping(node, n.Values, n.Start, depth)
	case *ast.MappingValueNode:
		return f.mapping(node, []*ast.MappingValueNode{n}, n.Start, depth)
	case *ast.SequenceNode:
		return f.sequence(node, n, depth)
	}
	if err := node.scalar(n); err != nil {
		return nil, err
	}
	return node, nil
}

func (f *File) mapping(node *Node, values []*ast.MappingValueNode, start *token.Token, depth int) (*Node, error) {
	node.shape = mapping
	if start != nil && start.Type == token.MappingStartType {
		node.Line, node.Column = start.Position.Line, start.Position.Column
	} else if len(values) > 0 {
		p := values[0].Key.GetToken().Position
		node.Line, node.Column = p.Line, p.Column
	}
	for _, v := range values {
		at := v.Key.GetToken().Position
		key, ok := v.Key.(*ast.StringNode)
		if !ok {
			return nil, &Error{
				File: f.Name, Line: at.Line, Column: at.Column, Path: node.Path,
				Reason: fmt.Sprintf("got %s as a name, expected a text", v.Key),
			}
		}
		if node.Has(key.Value) {
			return nil, &Error{File: f.Name, Line: at.Line, Column: at.Column, Path: node.Path, Reason: fmt.Sprintf("%q stands twice", key.Value)}
		}
		path := key.Value
		if node.Path != "" {
			path = node.Path + "." + path
		}
		inner, err := f.node(v.Value, path, depth+1)
		if err != nil {
			return nil, err
		}
		if inner.shape == scalar && inner.value == nil { // it may have no token of its own
			inner.Line, inner.Column = at.Line, at.Column
		}
		node.fields = append(node.fields, field{name: key.Value, line: at.Line, column: at.Column, value: inner})
	}
	return node, nil
}

func (f *File) sequence(node *Node, n *ast.SequenceNode, depth int) (*Node, error) {
	node.shape = sequence
	for i, value := range n.Values {
		inner, err := f.node(value, node.Path+"["+strconv.Itoa(i)+"]", depth+1)
		if err != nil {
			return nil, err
		}
		node.items = append(node.items, inner)
	}
	return node, nil
}

func (n *Node) scalar(from ast.Node) error {
	if t := from.GetToken(); t != nil {
		n.text = t.Value
	}
	switch v := from.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		n.value = v.Value
	case *ast.StringNode:
		n.value = v.Value
	case *ast.LiteralNode:
		n.value = v.Value.Value
	case *ast.FloatNode:
		n.value = v.Value
		if math.IsInf(v.Value, 0) {
			return n.Errorf("got %s, which is too large", n.text)
		}
	case *ast.IntegerNode:
		switch i := v.Value.(type) {
		case int64, uint64:
			n.value = i
		default:
			return n.Errorf("got %s, which is not a number that can be read", n.text)
		}
	case *ast.InfinityNode, *ast.NanNode:
		return n.Errorf("got %s, expected a finite number", n.text)
	case *ast.AnchorNode, *ast.AliasNode:
		return n.Errorf("anchors and aliases (& and *) are not supported; write the value out")
	case *ast.TagNode:
		return n.Errorf("tags (%s) are not supported; write the plain value", n.text)
	default:
		return n.Errorf("is a %s, which is not supported", from.Type())
	}
	return nil
}
