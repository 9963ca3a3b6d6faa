// Command genproviders writes the providers of which a model can be added as the
// JSON that the page's form reads. Its one argument is the file to write.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "genproviders:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: genproviders FILE")
	}
	data, err := json.MarshalIndent(provider.Addable(), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], append(data, '\n'), 0o644)
}
