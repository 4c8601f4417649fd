package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/stoic-go/stoic/cmd/stoic/schema"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:       "schema stack|scenario",
		Short:     "Print the JSON Schema of a file",
		Long:      "schema prints the JSON Schema of the file that holds a stack or a scenario, for an editor.",
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{"stack", "scenario"},
		RunE: func(cmd *cobra.Command, args []string) error {
			text, ok := map[string][]byte{"stack": schema.Stack, "scenario": schema.Scenario}[args[0]]
			if !ok {
				return fmt.Errorf("schema: got %q, expected stack or scenario", args[0])
			}
			_, err := cmd.OutOrStdout().Write(text)
			return err
		},
	}
}
