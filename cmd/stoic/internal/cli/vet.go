package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/cmd/stoic/internal/stackfile"
)

// found is a finding, and where the first layer that it is about stands in the file.
type found struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	stoic.Finding
}

func newVet() *cobra.Command {
	var (
		asJSON bool
		ignore []string
		level  string
	)
	cmd := &cobra.Command{
		Use:   "vet FILE",
		Short: "Find orders and numbers in a stack that are known to hurt",
		Long: "vet finds orders and numbers of the stack in FILE that are known to hurt, worst first.\n" +
			"FILE may be - for standard input. The exit status is 1 when there is a finding of level\n" +
			"warn; findings of level info are printed only. --fail-on changes that.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			least, ok := levels()[level]
			if !ok {
				return fmt.Errorf("--fail-on: got %q, expected info, warn or never", level)
			}
			codes, err := ignored(ignore)
			if err != nil {
				return err
			}
			s, p, err := load(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			all := locate(s, p.Vet(codes...))
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), all); err != nil {
					return err
				}
			}
			failed := false
			for _, f := range all {
				failed = failed || f.Level >= least
				if asJSON {
					continue
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s:%d:%d: %s\n", f.File, f.Line, f.Column, f.Finding); err != nil {
					return err
				}
			}
			if failed {
				return errFindings
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringSliceVar(&ignore, "ignore", nil, "leave out the findings of this `code` (may be repeated)")
	cmd.Flags().StringVar(&level, "fail-on", "warn", "the lowest `level` for which the exit status is 1: info, warn or never")
	return cmd
}

func locate(s *stackfile.Stack, fs stoic.Findings) []found {
	all := make([]found, 0, len(fs))
	for _, f := range fs {
		at := s.Layer(0)
		if len(f.Layers) > 0 {
			at = s.Layer(f.Layers[0])
		}
		all = append(all, found{File: at.File(), Line: at.Line, Column: at.Column, Finding: f})
	}
	return all
}

func levels() map[string]stoic.Level {
	return map[string]stoic.Level{"info": stoic.LevelInfo, "warn": stoic.LevelWarn, "never": stoic.LevelError + 1}
}

// ignored refuses a code that does not exist: a typo would ignore nothing.
func ignored(names []string) ([]stoic.Code, error) {
	known := []stoic.Code{
		stoic.CodeDeadlinePerAttemptOnly, stoic.CodeDeadlineTotalOnly, stoic.CodeAttemptNotBelowTotal,
		stoic.CodeBackoffExceedsDeadline, stoic.CodeRetryWithoutBudget, stoic.CodeRetryWithoutJitter,
		stoic.CodeNestedRetry, stoic.CodeRetryOfRejections, stoic.CodeBreakerWindowSmall,
		stoic.CodeBreakerOutsideRetry, stoic.CodeBreakerOutsideLimiter, stoic.CodeLimiterOutsideRetry,
		stoic.CodeLimiterWaitInsideAttempt, stoic.CodeOpaqueLayer,
	}
	codes := make([]stoic.Code, 0, len(names))
	for _, name := range names {
		if !slices.Contains(known, stoic.Code(name)) {
			return nil, fmt.Errorf("--ignore: got %q, expected one of %s", name, join(known))
		}
		codes = append(codes, stoic.Code(name))
	}
	return codes, nil
}

func join(codes []stoic.Code) string {
	texts := make([]string, len(codes))
	for i, c := range codes {
		texts[i] = string(c)
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
