package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkhead-host/bulkhead/host/cli"
	"github.com/bulkhead-host/bulkhead/host/store"
)

func agent(o *options) *cobra.Command {
	return group("agent", "The agents that a message may go to", addAgent(o),
		o.json(&cobra.Command{Use: "list", Short: "List the agents", Args: cobra.NoArgs,
			RunE: connected(o, func(ctx context.Context, c *cli.Client, _ []string) error {
				return cli.ListAgents(ctx, o.Options, c)
			})}),
		&cobra.Command{Use: "remove NAME", Short: "Remove an agent; its answers stay", Args: cobra.ExactArgs(1),
			RunE: connected(o, func(ctx context.Context, c *cli.Client, args []string) error {
				return cli.RemoveAgent(ctx, o.Options, c, args[0])
			})})
}

func addAgent(o *options) *cobra.Command {
	var a cli.NewAgent
	var instructions, tools string
	c := &cobra.Command{Use: "add NAME", Short: "Add an agent that messages can go to at once",
		Args: cobra.ExactArgs(1)}
	flags := c.Flags()
	flags.StringVar(&instructions, "instructions", "", "a file with what the model is told, or - for stdin")
	flags.StringVar(&tools, "tools", "", "the tools that it may use, by name or as plugin/tool, parted by commas "+
		"(default all)")
	flags.StringVar(&a.Model, "model", "", "the model that answers where none is chosen")
	flags.IntVar(&a.MaxCycles, "max-cycles", 0, "how often the model may be asked for one answer, 1 to 50 (default "+
		"the host's limit)")
	c.PreRunE = func(*cobra.Command, []string) error {
		if flags.Changed("max-cycles") && (a.MaxCycles < 1 || a.MaxCycles > store.MaxAgentCycles) {
			return fmt.Errorf("--max-cycles must be 1 to %d", store.MaxAgentCycles)
		}
		return nil
	}
	run := settled(o, func(ctx context.Context, client *cli.Client, _ []string) error {
		return cli.AddAgent(ctx, o.Options, client, a)
	})
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		a.Name = args[0]
		if flags.Changed("tools") {
			a.Tools = names(tools)
		}
		if instructions != "" {
			if a.Instructions, err = cli.ReadInstructions(instructions, c.InOrStdin()); err != nil {
				return failed{err}
			}
		}
		return run(c, args)
	}
	return c
}
