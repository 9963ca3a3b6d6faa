package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/bulkhead-host/bulkhead/host/cli"
)

// parse runs the fallback parser from the shell.
func parse(o *options) *cobra.Command {
	var how cli.Parsing
	c := &cobra.Command{Use: "parse", Short: "Find tool calls and reasoning in a model's text, from stdin",
		Args: cobra.NoArgs}
	c.RunE = do(func(context.Context, []string) error { return cli.Parse(o.Options, c.InOrStdin(), how) })
	flags := c.Flags()
	flags.StringVar(&how.ToolsFile, "tools", "", "a JSON file with the tools that the model was told of")
	flags.IntVar(&how.Chunk, "chunk", 0, "read pieces of this many bytes (default the whole text at once)")
	flags.BoolVar(&how.NDJSON, "ndjson", false, "read and write one JSON object a line")
	flags.BoolVar(&how.ReasoningOpen, "reasoning-open", false, "the prompt opened the reasoning")
	flags.StringVar(&how.ToolChoice, "tool-choice", "auto", "what the model was told: auto, required or none")
	return c
}
