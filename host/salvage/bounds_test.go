package salvage_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

func TestProseCostsNoAllocation(t *testing.T) {
	var chunks []string
	for _, c := range chunked("Plain words, in lines;\nyet numbers 1.5 (or so) {braces} too: \"quoted\" — é.\n\n", 5) {
		if utf8.ValidString(c) { // half a character has to be kept
			chunks = append(chunks, c)
		}
	}
	for name, o := range map[string]salvage.Options{"text": {}, "reasoning": {ReasoningOpen: true}} {
		p := salvage.New(o)
		p.Write("It begins.\n\nAnd ")
		allocations := testing.AllocsPerRun(50, func() {
			for _, c := range chunks {
				p.Write(c)
			}
		})
		if allocations > 0 {
			t.Errorf("%s: %v allocations", name, allocations)
		}
	}
}

func TestACallBeyondTheBoundIsText(t *testing.T) {
	long := strings.Repeat("é", salvage.MaxCallBytes/2)
	for _, text := range []string{
		`a <tool_call>{"name":"f","arguments":{"a":"` + long + `"}}</tool_call> b`,
		`{"name":"f","arguments":{"a":"` + long + `"}}`,
		"<tool_call>\n<function=f>\n<parameter=a>" + long,
	} {
		whole := salvage.Parse(text, salvage.Options{})
		pieces := salvage.ParseChunks(chunked(text, 4099), salvage.Options{})
		if whole.Content != pieces.Content || len(whole.Calls) != 0 || len(pieces.Calls) != 0 {
			t.Errorf("%.40s…: %d and %d bytes, calls %d and %d", text, len(whole.Content), len(pieces.Content),
				len(whole.Calls), len(pieces.Calls))
		}
		if strings.Count(whole.Content, "é") != strings.Count(text, "é") || len(whole.Notices) != 1 ||
			whole.Notices[0] != salvage.NoticeTooLong {
			t.Errorf("%.40s…: %d of %d bytes, notices %v", text, len(whole.Content), len(text), whole.Notices)
		}
	}
}

func TestALongCallBelowTheBoundIsACall(t *testing.T) {
	long := strings.Repeat("x", salvage.MaxCallBytes-200)
	got := salvage.ParseChunks(chunked(`<tool_call>{"name":"f","arguments":{"a":"`+long+`"}}</tool_call>`, 4099),
		salvage.Options{})
	if len(got.Calls) != 1 || len(got.Calls[0].Arguments) != len(long)+len(`{"a":""}`) {
		t.Errorf("got %d calls", len(got.Calls))
	}
}
