package salvage_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// marked are the vectors with one call between markers, one of each dialect. A
// tool_code fence is a call only as the whole answer, like all fences.
func marked(t *testing.T) []vector {
	t.Helper()
	unmarked := []string{"llama3_json", "pythonic_bare", "bare_json", "bare_json_array", "bare_json_fence",
		"bare_tool_call_fence",
		"llamacpp_generic", "openai_function_object", "transcript_calling_tool", "transcript_bracket",
		"transcript_tool_call", "gemma3_tool_code"}
	var out []vector
	for _, v := range load(t, filepath.Join("testdata", "calls.jsonl")) {
		if v.Kind == "one" && v.Tier == "" && !slices.Contains(unmarked, v.Dialect) {
			out = append(out, v)
		}
	}
	return out
}

// TestDraftsInReasoningAreNotCalls puts every dialect into a closed reasoning
// block and into one that never closes.
func TestDraftsInReasoningAreNotCalls(t *testing.T) {
	for _, v := range marked(t) {
		if strings.Contains(v.Text, "<think>") || slices.Contains([]string{"harmony", "harmony_recipient_first",
			"muse_glimmer", "inkling", "kimi_k2"}, v.Dialect) {
			continue // these close reasoning themselves
		}
		w := v
		w.Text = "<think>\nPerhaps " + v.Text + "\nbut no.\n</think>\n\nIt is so."
		want := "Perhaps " + v.Text + "\nbut no."
		if found := w.problems(t, func(_ vector, got salvage.Outcome) []string {
			if len(got.Calls) > 0 || strings.TrimSpace(got.Content) != "It is so." ||
				strings.TrimSpace(got.Reasoning) != want {
				return []string{"want no call and all of it as reasoning"}
			}
			return nil
		}); len(found) > 0 {
			t.Errorf("%s closed: %q\n\t%s", v.ID, w.Text, strings.Join(found, "\n\t"))
		}
		w.Text = "<think>\nSo I call:\n" + v.Text
		if found := w.problems(t, judgeNames); len(found) > 0 {
			t.Errorf("%s open: %q\n\t%s", v.ID, w.Text, strings.Join(found, "\n\t"))
		}
	}
}

// TestTwoDialectsInOneAnswer puts every dialect before and after others.
func TestTwoDialectsInOneAnswer(t *testing.T) {
	all := marked(t)
	for i, a := range all {
		for _, step := range []int{1, 7, 19, 31} {
			b := all[(i+step)%len(all)]
			w := vector{ID: a.ID + " " + b.ID, Dialect: a.Dialect, Text: "First.\n\n" + a.Text + "\n\n" + b.Text,
				LeakOK: false}
			w.Expected.Calls = append(slices.Clone(a.Expected.Calls), b.Expected.Calls...)
			w.Tools = joinTools(a, b)
			if found := w.problems(t, func(v vector, got salvage.Outcome) []string {
				found := append(judgeNames(v, got), judgeLeak(v, got)...)
				if strings.TrimSpace(got.Content) != "First." {
					found = append(found, `want content "First."`)
				}
				return found
			}); len(found) > 0 {
				t.Errorf("%s: %q\n\t%s", w.ID, w.Text, strings.Join(found, "\n\t"))
			}
		}
	}
}

// TestSurroundingsDoNotMatter puts whitespace, end tokens, other newlines and
// reasoning around the plain vectors of every dialect.
func TestSurroundingsDoNotMatter(t *testing.T) {
	for _, v := range load(t, filepath.Join("testdata", "calls.jsonl")) {
		if v.Tier != "" || !slices.Contains([]string{"one", "zero", "parallel"}, v.Kind) {
			continue
		}
		for _, c := range []struct {
			text  string
			judge func(vector, salvage.Outcome) []string
		}{
			{strings.ReplaceAll(v.Text, "\n", "\r\n"), judgeCall},
			{"\n " + v.Text + " \n\n", judgeCall},
			{v.Text + "<|im_end|>", judgeCall},
			{v.Text + "\n</s>", judgeCall},
			{"<think>\nhm\n</think>\n\n" + v.Text, judgeNames},
			{"hm</think>" + v.Text, judgeNames},
		} {
			w := v
			w.Text = c.text
			if found := w.problems(t, c.judge); len(found) > 0 {
				t.Errorf("%s: %q\n\t%s", v.ID, w.Text, strings.Join(found, "\n\t"))
			}
		}
	}
}

// joinTools gives the tools that both vectors know; a vector without tools adds
// nothing, and two without any stay so.
func joinTools(a, b vector) []byte {
	switch {
	case len(a.Tools) == 0:
		return b.Tools
	case len(b.Tools) == 0:
		return a.Tools
	}
	return []byte("[" + strings.Trim(string(a.Tools), "[]") + "," + strings.Trim(string(b.Tools), "[]") + "]")
}
