package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/bulkhead-host/bulkhead/host/cli"
)

func benchmarks(o *options) *cobra.Command {
	return o.json(&cobra.Command{Use: "bench [NAME…]", Short: "Measure this host on this machine",
		Long: "Measure this host on this machine, each figure beside its reference from the same run where there is " +
			"one. NAME is a benchmark, such as parse/prose, or a group, such as parse.",
		RunE: do(func(ctx context.Context, args []string) error { return cli.Bench(ctx, o.Options, args) })})
}
