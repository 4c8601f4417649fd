// Package cli is the command line of stoic.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit statuses.
const (
	exitOK       = 0
	exitFindings = 1 // what was asked for was found, or a bound does not hold
	exitBadInput = 2 // a wrong command line or file, or something that cannot be done
)

// errFindings ends a command with exitFindings; what there is to say was printed.
var errFindings = errors.New("findings")

// Run runs a command line without the program's name, and returns the exit status: 0 if
// all is well, 1 for findings or a bound that fails, 2 for bad input. A run in the lab ends when ctx is done.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot() //nolint:contextcheck // commands get it from ExecuteContext
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return exitOK
	case errors.Is(err, errFindings):
		return exitFindings
	default:
		fmt.Fprintln(stderr, err) //nolint:errcheck // nobody is left to tell
		return exitBadInput
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "stoic",
		Short: "Explain, vet and try out stacks of resilience policies",
		Long: "stoic explains a stack of resilience policies that is written as a YAML file, finds what\n" +
			"hurts in it, and puts it into an outage in virtual time.\n\n" +
			"Exit status: 0 all is well, 1 findings or a bound that fails, 2 bad input.",
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cobra.NoArgs,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newExplain(), newVet(), newSchema(), newLab())
	return root
}
