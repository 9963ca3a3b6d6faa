// Command gencodes writes the closed list of codes as the JSON that the page
// shows its sentences from. Its one argument is the file to write.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gencodes:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: gencodes FILE")
	}
	data, err := json.MarshalIndent(packet.Codes, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], append(data, '\n'), 0o644)
}
