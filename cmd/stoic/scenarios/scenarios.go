// Package scenarios holds the scenarios that the command brings along.
package scenarios

import (
	"embed"
	"path"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Default is the name of the one that stoic lab compare runs.
const Default = "brown-out"

// Names are those of all scenarios, in order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // an embedded folder can be read
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return names
}

// Read returns the YAML of a scenario, and whether there is one of that name.
func Read(name string) ([]byte, bool) {
	data, err := files.ReadFile(name + ".yaml")
	return data, err == nil
}
