// Command genfaults writes the catalogue of faults as the JSON that the page
// reads. Its one argument is the file to write.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/bulkhead-host/bulkhead/host/fault"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "genfaults:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: genfaults FILE")
	}
	data, err := json.MarshalIndent(fault.Codes, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], append(data, '\n'), 0o644)
}
