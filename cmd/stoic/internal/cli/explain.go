package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/cmd/stoic/internal/source"
	"github.com/stoic-go/stoic/cmd/stoic/internal/stackfile"
)

func newExplain() *cobra.Command {
	var asJSON, asMermaid bool
	cmd := &cobra.Command{
		Use:   "explain FILE",
		Short: "Say what each layer of a stack does, and its worst case in numbers",
		Long: "explain says what each layer of the stack in FILE does at its place, and the worst case of\n" +
			"a call in numbers: attempts, time, load in an outage. FILE may be - for standard input.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON && asMermaid {
				return errors.New("--json and --mermaid exclude each other")
			}
			_, p, err := load(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			e := p.Explain()
			switch {
			case asJSON:
				return printJSON(cmd.OutOrStdout(), e)
			case asMermaid:
				_, err = fmt.Fprint(cmd.OutOrStdout(), e.Mermaid())
			default:
				_, err = fmt.Fprint(cmd.OutOrStdout(), e)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&asMermaid, "mermaid", false, "print a Mermaid diagram")
	return cmd
}

// load makes the stack of a file.
func load(name string, stdin io.Reader) (*stackfile.Stack, *stoic.Pipeline, error) {
	f, err := source.Read(name, stdin)
	if err != nil {
		return nil, nil, err
	}
	s, err := stackfile.Load(f)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.New()
	return s, p, err
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
