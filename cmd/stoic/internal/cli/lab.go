package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/stoic-go/stoic/cmd/stoic/internal/labfile"
	"github.com/stoic-go/stoic/cmd/stoic/internal/labrun"
	"github.com/stoic-go/stoic/cmd/stoic/internal/source"
	"github.com/stoic-go/stoic/cmd/stoic/internal/stackfile"
	"github.com/stoic-go/stoic/cmd/stoic/scenarios"
)

func newLab() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Put stacks into an outage in virtual time",
		Long: "lab runs stacks of policies against a modelled dependency in an outage: thousands of\n" +
			"clients and minutes of outage in seconds. Time is virtual, the policies are the real ones.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLabList(), newLabShow(), newLabRun(), newLabCompare())
	return cmd
}

func newLabList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the scenarios that the command brings along",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			width := 0
			for _, name := range scenarios.Names() {
				width = max(width, len(name))
			}
			for _, name := range scenarios.Names() {
				f, err := scenario(name, nil)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%-*s  %s\n", width, name, f.About); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func newLabShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Print a scenario of the list, to start a file of your own",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, ok := scenarios.Read(args[0])
			if !ok {
				return noScenario(args[0])
			}
			_, err := cmd.OutOrStdout().Write(data)
			return err
		},
	}
}

// labOptions are the flags of run and compare.
type labOptions struct {
	asJSON, series bool
	out            string
	seeds          []uint
	stacks         []string
}

func (o *labOptions) add(cmd *cobra.Command, out string) {
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON instead of the table")
	cmd.Flags().BoolVar(&o.series, "series", false, "with --json, the numbers over time too")
	cmd.Flags().StringVar(&o.out, "out", out, "write the page with the charts to this `file`")
	cmd.Flags().UintSliceVar(&o.seeds, "seed", nil, "run with these `seeds` instead of those of the file")
	cmd.Flags().StringSliceVar(&o.stacks, "stack", nil, "try the stack of this `file` (may be repeated) instead of those of the scenario")
}

func newLabRun() *cobra.Command {
	var o labOptions
	cmd := &cobra.Command{
		Use:   "run NAME|FILE",
		Short: "Run a scenario and print what became of each stack",
		Long: "run lives through a scenario with each of its stacks and prints a table. The scenario is one\n" +
			"of the list, a YAML file, or - for standard input; a name with a slash or a dot is a file.\n" +
			"--stack tries stacks of your own.\n\n" +
			"The exit status is 1 when a bound of the file (assert) does not hold.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.add(cmd, "")
	return cmd
}

func newLabCompare() *cobra.Command {
	var o labOptions
	cmd := &cobra.Command{
		Use:   "compare [NAME|FILE]",
		Short: "Compare stacks in one outage, and write a page with charts",
		Long: "compare lives through a scenario with each of its stacks, prints a table and writes one page\n" +
			"with charts that needs nothing else. Without an argument it is the scenario " + scenarios.Default + ", with six\n" +
			"stacks.\n\n" +
			"The exit status is 1 when a bound of the file (assert) does not hold.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{scenarios.Default}
			}
			return o.run(cmd, args[0])
		},
	}
	o.add(cmd, "report.html")
	return cmd
}

func (o *labOptions) run(cmd *cobra.Command, name string) error {
	if o.series && !o.asJSON {
		return errors.New("--series is for --json")
	}
	f, err := scenario(name, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if err := o.apply(f, cmd.InOrStdin()); err != nil {
		return err
	}
	if len(f.Stacks) == 0 {
		return fmt.Errorf(`%s: "stacks" is missing, expected a list of at least one stack, or --stack`, name)
	}
	if err := o.writable(); err != nil {
		return err
	}
	all := labrun.New(f)
	stop := showProgress(cmd.ErrOrStderr(), all.Progress)
	outcomes, err := all.Run(cmd.Context())
	stop()
	if err != nil {
		return err
	}
	return o.show(cmd, f, outcomes)
}

// show prints and writes what came out.
func (o *labOptions) show(cmd *cobra.Command, f *labfile.File, outcomes []labrun.Outcome) error {
	r, err := labrun.Report(f, outcomes)
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := writeFile(o.out, r.WritePage); err != nil {
			return err
		}
	}
	if o.asJSON {
		err = printJSON(cmd.OutOrStdout(), labrun.JSON(f, outcomes, o.series))
	} else {
		err = r.WriteTable(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	for _, outcome := range outcomes {
		if n := outcome.Ties(); n > 0 {
			cmd.PrintErrf("stack %q: %d times two requests met at one instant; another run may give other numbers\n", outcome.Stack.Name, n)
		}
	}
	if o.out != "" {
		cmd.PrintErrf("wrote %s\n", o.out)
	}
	if r.Failed() > 0 {
		return errFindings
	}
	return nil
}

// apply puts what the flags say into the file.
func (o *labOptions) apply(f *labfile.File, stdin io.Reader) error {
	if len(o.seeds) > 0 {
		f.Seeds = nil
		for _, s := range o.seeds {
			f.Seeds = append(f.Seeds, uint64(s))
		}
	}
	if len(o.stacks) == 0 {
		return nil
	}
	names := make(map[string]bool)
	f.Stacks = nil
	for _, name := range o.stacks {
		file, err := source.Read(name, stdin)
		if err != nil {
			return err
		}
		s, err := stackfile.Load(file)
		if err != nil {
			return err
		}
		if names[s.Name] {
			return fmt.Errorf("--stack %s: there are two stacks with the name %q", name, s.Name)
		}
		names[s.Name] = true
		f.Stacks = append(f.Stacks, s)
	}
	return nil
}

// scenario reads one of the list or a file.
func scenario(name string, stdin io.Reader) (*labfile.File, error) {
	if data, ok := scenarios.Read(name); ok {
		f, err := source.Parse(name, data)
		if err != nil {
			return nil, err
		}
		return labfile.Load(f)
	}
	if name != "-" && !strings.ContainsAny(name, `./\`) {
		return nil, noScenario(name)
	}
	f, err := source.Read(name, stdin)
	if err != nil {
		return nil, err
	}
	return labfile.Load(f)
}

func noScenario(name string) error {
	return fmt.Errorf("there is no scenario %q, expected a file or one of %s", name, strings.Join(scenarios.Names(), ", "))
}

// writable finds out before the runs whether there will be a place for the page.
func (o *labOptions) writable() error {
	if o.out == "" {
		return nil
	}
	dir := filepath.Dir(o.out)
	if info, err := os.Stat(dir); err != nil {
		return fmt.Errorf("--out: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("--out: %s is not a folder", dir)
	}
	if info, err := os.Stat(o.out); err == nil && info.IsDir() {
		return fmt.Errorf("--out: %s is a folder, expected a file", o.out)
	}
	return nil
}

// writeFile writes a file as a whole or not at all.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it is gone when all went well
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
