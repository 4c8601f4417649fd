package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Schema is a JSON Schema. The title of each part of it says what is expected there, in
// words that follow "expected".
type Schema struct {
	compiled *jsonschema.Schema
	docs     map[string]any // by URL
}

// NewSchema compiles the first of the documents, which may refer to the others by their
// $id. The format "go-duration" is a text that time.ParseDuration takes.
func NewSchema(documents ...[]byte) (*Schema, error) {
	c := jsonschema.NewCompiler()
	c.RegisterFormat(&jsonschema.Format{Name: "go-duration", Validate: goDuration()})
	c.AssertFormat()
	s := &Schema{docs: make(map[string]any)}
	var first string
	for _, d := range documents {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(d))
		if err != nil {
			return nil, err
		}
		var head struct {
			ID string `json:"$id"`
		}
		if err := json.Unmarshal(d, &head); err != nil {
			return nil, err
		}
		if err := c.AddResource(head.ID, doc); err != nil {
			return nil, err
		}
		s.docs[head.ID] = doc
		if first == "" {
			first = head.ID
		}
	}
	var err error
	s.compiled, err = c.Compile(first)
	return s, err
}

// DurationPattern is that of a duration in the schemas, which say what else is no
// duration.
const DurationPattern = `^[0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))*$`

// goDuration refuses a duration that is too long for one in Go.
func goDuration() func(v any) error {
	form := regexp.MustCompile(DurationPattern)
	return func(v any) error {
		text, ok := v.(string)
		if !ok || !form.MatchString(text) {
			return nil
		}
		_, err := time.ParseDuration(text)
		return err
	}
}

// Check validates the file. The error is an [*Error]: of all mistakes the first in the
// file, an unknown name before a missing one.
func (s *Schema) Check(f *File) error {
	err := s.compiled.Validate(f.Root.plain())
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return f.Root.Errorf("%v", err)
	}
	var found []mistake
	s.collect(f, invalid, &found)
	return slices.MinFunc(found, func(a, b mistake) int {
		return cmp.Or(
			cmp.Compare(a.missing, b.missing),
			cmp.Compare(a.err.Line, b.err.Line),
			cmp.Compare(a.err.Column, b.err.Column),
		)
	}).err
}

// mistake is an error, and what it yields to.
type mistake struct {
	err     *Error
	missing int // 1 for a missing name, which yields to all others: it may be one of the unknown ones
}

// collect gathers the leaves: an error with causes only says where they are.
func (s *Schema) collect(f *File, v *jsonschema.ValidationError, found *[]mistake) {
	if len(v.Causes) > 0 {
		for _, c := range v.Causes {
			s.collect(f, c, found)
		}
		return
	}
	n := f.Root.at(v.InstanceLocation)
	expected := s.title(v.SchemaURL)
	switch k := v.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			*found = append(*found, mistake{err: s.unknown(n, name, v.SchemaURL)})
		}
	case *kind.Required:
		names := quoted(k.Missing)
		verb := "is"
		if len(k.Missing) > 1 {
			verb = "are"
		}
		reason := fmt.Sprintf("%s %s missing", names, verb)
		if len(k.Missing) == 1 {
			if t := s.title(v.SchemaURL + "/properties/" + k.Missing[0]); t != "" {
				reason += ", expected " + t
			}
		}
		*found = append(*found, mistake{err: n.Errorf("%s", reason), missing: 1})
	case *kind.MinProperties, *kind.MaxProperties:
		*found = append(*found, mistake{err: n.Errorf("got %s, expected %s", names(n), expected)})
	case *kind.MinItems:
		*found = append(*found, mistake{err: n.Errorf("the list is empty, expected %s", expected)})
	case *kind.MaxItems:
		*found = append(*found, mistake{err: n.Errorf("got %d, expected %s", k.Got, expected)})
	case *kind.UniqueItems:
		again := n.items[k.Duplicates[1]]
		*found = append(*found, mistake{err: again.Errorf("%s stands twice", again)})
	case *kind.Format:
		*found = append(*found, mistake{err: n.Errorf("got %s, which is too long, expected %s", n, expected)})
	default:
		*found = append(*found, mistake{err: n.Errorf("got %s, expected %s", n, expected)})
	}
}

// names says what a mapping has: `nothing` or `"a" and "b"`.
func names(n *Node) string {
	var list []string
	for _, f := range n.fields {
		list = append(list, f.name)
	}
	if len(list) == 0 {
		return "nothing"
	}
	return quoted(list)
}

func quoted(names []string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			b.WriteString(" and ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(name))
	}
	return b.String()
}

// unknown says which name is not known, and which are.
func (s *Schema) unknown(n *Node, name, url string) *Error {
	var known []string
	if part, ok := s.part(url).(map[string]any); ok {
		if properties, ok := part["properties"].(map[string]any); ok {
			for k := range properties {
				known = append(known, k)
			}
		}
	}
	slices.Sort(known)
	reason := "unknown name " + strconv.Quote(name)
	if near := nearest(name, known); near != "" {
		reason += fmt.Sprintf(", did you mean %q?", near)
	} else {
		reason += ", expected one of " + strings.Join(known, ", ")
	}
	e := n.Errorf("%s", reason)
	for _, f := range n.fields {
		if f.name == name {
			e.Line, e.Column = f.line, f.column
		}
	}
	return e
}

// title is the title of the nearest part of the schema around url.
func (s *Schema) title(url string) string {
	base, fragment, _ := strings.Cut(url, "#")
	for {
		if part, ok := s.part(base + "#" + fragment).(map[string]any); ok {
			if title, ok := part["title"].(string); ok {
				return title
			}
			if ref, ok := part["$ref"].(string); ok {
				if strings.HasPrefix(ref, "#") {
					return s.title(base + ref)
				}
				return s.title(base[:strings.LastIndex(base, "/")+1] + ref)
			}
		}
		i := strings.LastIndexByte(fragment, '/')
		if i < 0 {
			return ""
		}
		fragment = fragment[:i]
	}
}

// part is what a URL with a JSON pointer names.
func (s *Schema) part(url string) any {
	base, fragment, _ := strings.Cut(url, "#")
	at := s.docs[base]
	if fragment == "" {
		return at
	}
	for p := range strings.SplitSeq(strings.TrimPrefix(fragment, "/"), "/") {
		switch v := at.(type) {
		case map[string]any:
			at = v[p]
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}
