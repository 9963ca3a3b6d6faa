package salvage_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// longestHeld is more than any marker has, in bytes.
const longestHeld = 64

// TestTextIsNotHeldBack feeds texts that hold no whole marker and cannot be a
// bare call, byte by byte: what is not shown yet is at most half a marker and
// the whitespace before it.
func TestTextIsNotHeldBack(t *testing.T) {
	kinds := []string{"text", "markdown", "latex", "log", "markup", "transcript", "brackets", "half-marker"}
	for _, v := range load(t, filepath.Join("testdata", "prose.jsonl")) {
		start := strings.TrimSpace(v.Text)
		if !slices.Contains(kinds, v.Kind) || start == "" || strings.ContainsAny(start[:1], "[{`") {
			continue
		}
		p, shown := salvage.New(v.options(t)), 0
		for i := range len(v.Text) {
			for _, e := range p.Write(v.Text[i : i+1]) {
				if e, ok := e.(salvage.Text); ok {
					shown += len(e.Delta)
				}
			}
			if held := strings.TrimLeft(v.Text[shown:i+1], " \t\r\n\u00a0\u3000"); len(held) > longestHeld {
				t.Errorf("%s: %d bytes are held back after %q: %q", v.ID, len(held), v.Text[:shown], held)
				break
			}
		}
	}
}
