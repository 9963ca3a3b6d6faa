package window

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

func memories(n int) []Memory {
	var out []Memory
	for i := range n {
		out = append(out, Memory{Text: fmt.Sprintf("Fact number %d about nothing in particular.", n-i)})
	}
	return out
}

func TestMemoriesStandNewestFirstAndAreReadBack(t *testing.T) {
	text, left := Memories([]Memory{{Text: "I drink\ntea.\n- and"}, {Text: "My dog is Rex."}}, "hello", 0)
	if got := llm.Remembered("before\n" + text); left != 0 || len(got) != 2 || got[0] != "I drink tea. - and" ||
		got[1] != "My dog is Rex." {
		t.Errorf("%q from %q", got, text)
	}
	if text, _ := Memories(nil, "hello", 0); text != "" {
		t.Errorf("%q", text)
	}
}

func TestMemoriesThatDoNotFitAreCounted(t *testing.T) {
	list := append(memories(500), Memory{Text: "The lighthouse keeper is my uncle."})
	text, left := Memories(list, "Who keeps the lighthouse?", 8192)
	kept := llm.Remembered(text)
	if left+len(kept) != len(list) || Tokens(text) > 8192/memoryShare+120 ||
		!strings.Contains(text, fmt.Sprintf("%d more memories", left)) {
		t.Errorf("%d kept, %d left, %d tokens", len(kept), left, Tokens(text))
	}
	if kept[0] != "Fact number 500 about nothing in particular." ||
		kept[len(kept)-1] != "The lighthouse keeper is my uncle." {
		t.Errorf("the newest and what was asked about must stay: %q", kept)
	}
}

func attachment(id, text string) llm.Attachment {
	return llm.Attachment{ID: id, Name: id + ".txt", Text: text, Characters: utf8.RuneCountInString(text)}
}

func TestFilesOfLaterMessagesStandWholeFirst(t *testing.T) {
	big := strings.Repeat("abc\n", 1500) // 2000 tokens
	history := []llm.Message{
		{Role: llm.RoleUser, Text: "one", Attachments: []llm.Attachment{attachment("a", big),
			attachment("b", "short")}},
		{Role: llm.RoleAssistant, Text: "ok"},
		{Role: llm.RoleUser, Text: "two", Attachments: []llm.Attachment{attachment("c", big)}},
	}
	out := Attach(history, 6000, false)
	a, b, c := out[0].Attachments[0], out[0].Attachments[1], out[2].Attachments[0]
	if a.Whole || !b.Whole || !c.Whole || c.Text != big || strings.Count(a.Text, "\n") != headLines-1 {
		t.Errorf("a %v %d, b %v, c %v", a.Whole, len(a.Text), b.Whole, c.Whole)
	}
	if history[0].Attachments[0].Text != big {
		t.Error("the history that came in was changed")
	}
	if got := out[2].Content(); !strings.HasPrefix(got, "two\n\n=== attached file \"c.txt\", id c, ") ||
		!strings.HasSuffix(got, "abc\n=== end of file c ===") {
		t.Errorf("%.80q", got)
	}
	if _, err := Fit(Ask{History: out, Latest: 2, ContextTokens: 6000}); err != nil {
		t.Error(err)
	}
}

func TestAFileOfTwoMessagesStandsOnce(t *testing.T) {
	one := attachment("a", "text")
	history := []llm.Message{{Role: llm.RoleUser, Attachments: []llm.Attachment{one}},
		{Role: llm.RoleUser, Attachments: []llm.Attachment{one}}}
	if out := Attach(history, 0, false); len(out[0].Attachments) != 0 || !out[1].Attachments[0].Whole {
		t.Errorf("%+v", out)
	}
}

func TestALongLineIsCut(t *testing.T) {
	if got := head(strings.Repeat("ä", 5000)); utf8.RuneCountInString(got) != headRunes+1 ||
		!strings.HasSuffix(got, "…") {
		t.Errorf("%d", utf8.RuneCountInString(got))
	}
}
