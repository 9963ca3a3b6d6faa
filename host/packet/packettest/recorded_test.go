package packettest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// The streams that the page's tests play are streams that a host may send.
func TestRecordingsOfThePageKeepTheInvariants(t *testing.T) {
	files, err := filepath.Glob("../../../web/src/lib/recorded/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings found: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var packets []packet.Packet
			for line := range strings.Lines(string(data)) {
				var p packet.Packet
				if err := json.Unmarshal([]byte(line), &p); err != nil {
					t.Fatal(err)
				}
				packets = append(packets, p)
			}
			Require(t, packets)
		})
	}
}
