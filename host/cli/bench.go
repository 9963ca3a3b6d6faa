package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/bench"
)

// Bench runs benchmarks and writes each figure beside its reference.
func Bench(ctx context.Context, o Options, names []string) error {
	results := []bench.Result{}
	err := bench.Run(ctx, names, func(r bench.Result) {
		results = append(results, r)
		if !o.JSON {
			fmt.Fprintln(o.Out, benchLine(r))
		}
	})
	if err != nil || !o.JSON {
		return err
	}
	return json.NewEncoder(o.Out).Encode(results)
}

// benchLine is a figure as a line. A ratio above 1 is in our favour.
func benchLine(r bench.Result) string {
	line := fmt.Sprintf("%-34s %10.3g %s", r.Name, r.Value, r.Unit)
	if r.Reference != nil {
		line += fmt.Sprintf("   %s %.3g %s, ratio %.3g", *r.Reference, *r.ReferenceValue, r.Unit, *r.Ratio)
	}
	return strings.TrimRight(line, " ")
}
