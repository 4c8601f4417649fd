// Package schema holds the JSON Schemas of the files that the command reads.
package schema

import _ "embed"

// Stack is the JSON Schema of a stack.
//
//go:embed stack.json
var Stack []byte

// Scenario is the JSON Schema of a scenario.
//
//go:embed scenario.json
var Scenario []byte
