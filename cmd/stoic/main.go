// Command stoic explains stacks of resilience policies, finds what hurts in them, and
// puts them into outages in virtual time. See docs/cli.md.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/stoic-go/stoic/cmd/stoic/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
