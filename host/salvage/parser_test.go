package salvage

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type joined struct {
	text, reasoning string
	calls           []Call
	malformed       []string
}

func join(events []Event, into *joined) {
	for _, e := range events {
		switch e := e.(type) {
		case Text:
			into.text += e.Delta
		case Reasoning:
			into.reasoning += e.Delta
		case Call:
			into.calls = append(into.calls, e)
		case Malformed:
			into.malformed = append(into.malformed, e.Raw)
		}
	}
}

func parse(chunks ...string) joined {
	var j joined
	p := New(Options{})
	for _, c := range chunks {
		join(p.Write(c), &j)
	}
	join(p.Close(), &j)
	return j
}

func TestParserSeparatesTextReasoningAndCalls(t *testing.T) {
	call := Call{Name: "f", Arguments: `{"a":1}`}
	for _, c := range []struct {
		name, in string
		want     joined
	}{
		{"prose", "a < b and <b>", joined{text: "a < b and <b>"}},
		{"call", `<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>`, joined{calls: []Call{call}}},
		{"narration", `I look. <tool_call>{"name":"f","arguments":{"a":1}}</tool_call>`,
			joined{text: "I look. ", calls: []Call{call}}},
		{"two calls", `<tool_call>{"name":"f","arguments":{"a":1}}</tool_call><tool_call>{"name":"g"}</tool_call>`,
			joined{calls: []Call{call, {Name: "g", Arguments: "{}"}}}},
		{"closer missing", `<tool_call>{"name":"f","arguments":{"a":1}}`, joined{calls: []Call{call}}},
		{"arguments as a string", `<tool_call>{"name":"f","arguments":"{\"a\":1}"}</tool_call>`,
			joined{calls: []Call{call}}},
		{"malformed is not shown", `x<tool_call>{"name":</tool_call>y`,
			joined{text: "xy", malformed: []string{`<tool_call>{"name":`}}},
		{"reasoning", "<think>hm</think>\n\nyes", joined{reasoning: "hm", text: "\n\nyes"}},
		{"reasoning marker in prose", "the tag <think> opens", joined{text: "the tag <think> opens"}},
		{"call in reasoning is a draft", `<think><tool_call>{"name":"f"}</tool_call></think>ok`,
			joined{reasoning: `<tool_call>{"name":"f"}</tool_call>`, text: "ok"}},
		{"marker cut at the end", "see <tool_ca", joined{text: "see <tool_ca"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := parse(c.in); !same(got, c.want) {
				t.Errorf("whole: got %+v, want %+v", got, c.want)
			}
			if got := parse(strings.Split(c.in, "")...); !same(got, c.want) {
				t.Errorf("by character: got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestAnySplitGivesTheSameEvents(t *testing.T) {
	piece := rapid.SampledFrom([]string{"<tool_call>", "</tool_call>", "<think>", "</think>", `{"name":"f"}`, "<",
		"text", " ", "\n", "é", "</", "tool_call>"})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
		cut := rapid.IntRange(0, len(in)).Draw(t, "cut")
		whole, split, bytes := parse(in), parse(in[:cut], in[cut:]), parse(splitBytes(in)...)
		if !same(whole, split) {
			t.Fatalf("cut at %d of %q: %+v, whole: %+v", cut, in, split, whole)
		}
		if !same(whole, bytes) {
			t.Fatalf("byte by byte %q: %+v, whole: %+v", in, bytes, whole)
		}
	})
}

func splitBytes(s string) []string {
	out := make([]string, len(s))
	for i := range len(s) {
		out[i] = s[i : i+1]
	}
	return out
}

func same(a, b joined) bool {
	if a.text != b.text || a.reasoning != b.reasoning || len(a.calls) != len(b.calls) ||
		len(a.malformed) != len(b.malformed) {
		return false
	}
	for i := range a.calls {
		if a.calls[i] != b.calls[i] {
			return false
		}
	}
	for i := range a.malformed {
		if a.malformed[i] != b.malformed[i] {
			return false
		}
	}
	return true
}

func FuzzParserLosesNothingWithoutMarkers(f *testing.F) {
	f.Add("plain")
	f.Add("a <b> c <tool_cal")
	f.Fuzz(func(t *testing.T, in string) {
		if strings.ContainsAny(in, "<[`{>*") {
			parse(in) // must not panic
			return
		}
		if got := parse(splitBytes(in)...); got.text != in {
			t.Fatalf("got %q, want %q", got.text, in)
		}
	})
}

func TestALeadInLineIsAsLongHoweverItsCharactersAreCut(t *testing.T) {
	for _, lead := range []string{strings.Repeat("灯", 75), strings.Repeat("é", 110),
		strings.Repeat("\xe0`", 40) + strings.Repeat("\xd0", 100)} {
		in := lead + "\n[f(a=1), f()]"
		whole := gather(New(Options{}), in, len(in))
		if len(whole) != 2 {
			t.Errorf("%.12q: %d calls", lead, len(whole))
		}
		for size := 1; size < 5; size++ {
			if cut := gather(New(Options{}), in, size); len(cut) != len(whole) {
				t.Errorf("%.12q in pieces of %d: %d calls, whole %d", lead, size, len(cut), len(whole))
			}
		}
	}
}

// gather returns the calls of a text that comes in pieces.
func gather(p *Parser, in string, size int) (calls []Call) {
	take := func(events []Event) {
		for _, e := range events {
			if c, ok := e.(Call); ok {
				calls = append(calls, c)
			}
		}
	}
	for len(in) > 0 {
		n := min(size, len(in))
		take(p.Write(in[:n]))
		in = in[n:]
	}
	take(p.Close())
	return calls
}
