package salvage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// textKept are shared vectors whose source throws away the text around a call.
// Our policy keeps it, so their content may be wider than what they expect.
var textKept = []string{"v023", "v033", "v034", "v046", "v085", "v124"}

// judgeShared compares only the fields that a shared vector names.
func judgeShared(v vector, got salvage.Outcome) []string {
	found := append(judgeNames(v, got), judgeLeak(v, got)...)
	content := v.Expected.Content
	if content != nil && !content.match(got.Content) &&
		!(slices.Contains(textKept, v.ID) && wider(v.Text, content[0], got.Content)) {
		found = append(found, fmt.Sprintf("want content %q", []string(content)))
	}
	if r := v.Expected.Reasoning; r != nil && strings.TrimSpace(*r) != strings.TrimSpace(got.Reasoning) {
		found = append(found, fmt.Sprintf("want reasoning %q", *r))
	}
	return found
}

// wider tells whether got starts with want and goes on with words that stand in
// the text in the same order.
func wider(text, want, got string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(got), strings.TrimSpace(want))
	for _, word := range strings.Fields(rest) {
		var found bool
		if _, text, found = strings.Cut(text, word); !found {
			return false
		}
	}
	return ok
}

func TestSharedVectorsHold(t *testing.T) {
	folder := os.Getenv("BULKHEAD_SHARED_DATA")
	if folder == "" {
		t.Skip("BULKHEAD_SHARED_DATA is not set")
	}
	path := filepath.Join(folder, "toolcalls", "vectors.jsonl")
	if _, err := os.Stat(path); os.IsNotExist(err) {
		t.Skipf("%s is not there", path)
	}
	run(t, load(t, path), judgeShared, func(v vector) bool { return v.Tier == "core" || v.Tier == "assisted" })
}
