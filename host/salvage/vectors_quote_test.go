package salvage_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestQuotedVectorsAreText shows every call vector as an example, in a fence
// with other lines and as inline code: it comes out as it went in, with no call.
func TestQuotedVectorsAreText(t *testing.T) {
	for _, v := range load(t, filepath.Join("testdata", "calls.jsonl")) {
		if v.ReasoningOpen {
			continue
		}
		for name, text := range quotations(v.Text) {
			w := v
			w.Text = text
			if found := w.problems(t, judgeProse); len(found) > 0 {
				t.Errorf("%s in %s: %q\n\t%s", v.ID, name, text, strings.Join(found, "\n\t"))
			}
		}
	}
}

func quotations(text string) map[string]string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	out := map[string]string{
		"a fence": "The model writes:\n\n" + fence + "text\n# an example\n" + text + "\n# its end\n" + fence +
			"\n\nThe host reads it.",
		"a list's fence": "1. First:\n\n   " + fence + "\n   before\n" + text + "\n   after\n   " + fence +
			"\n2. Second.",
	}
	if !strings.ContainsAny(text, "`\n") {
		out["inline code"] = "It writes `" + text + "` here.\n"
	}
	return out
}
