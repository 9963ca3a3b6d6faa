package step

import (
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

func TestArgumentsAreOneObjectHoweverTheyAreSent(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		want   string
	}{
		"piece by piece":                   {[]string{`{"q":`, `"a b`, `"}`}, `{"q":"a b"}`},
		"all so far, each time":            {[]string{`{"q":`, `{"q":"a`, `{"q":"a b"}`}, `{"q":"a b"}`},
		"all so far, the last one twice":   {[]string{`{"q"`, `{"q":"a"}`, `{"q":"a"}`}, `{"q":"a"}`},
		"all of it once more at the end":   {[]string{`{"q":`, `"a"}`, `{"q":"a"}`}, `{"q":"a"}`},
		"an empty object before":           {[]string{`{}`, `{"q":`, `"a"}`}, `{"q":"a"}`},
		"an empty object before, in one":   {[]string{`{ }`, ` {"q":"a"}`}, ` {"q":"a"}`},
		"an empty object before, each far": {[]string{`{}`, `{"q":`, `{"q":"a"}`}, `{"q":"a"}`},
		"an empty object behind":           {[]string{`{"q":"a"}`, `{}`}, `{"q":"a"}`},
		"only an empty object":             {[]string{`{}`}, `{}`},
		"an empty object, twice":           {[]string{`{}`, `{}`}, `{}`},
		"an object in one of its own name": {[]string{`{"q":`, `{"q":`, `"a"}}`}, `{"q":{"q":"a"}}`},
		"an object in one, whole":          {[]string{`{"q":`, `{"q":"a"}`, `}`}, `{"q":{"q":"a"}}`},
		"an empty object inside":           {[]string{`{"q":`, `{}`, `}`}, `{"q":{}}`},
		"pieces that are the same":         {[]string{`{"q":"`, `a`, `a`, `a`, `"}`}, `{"q":"aaa"}`},
		"brackets one by one":              {strings.Split(`{"q":[[1],[1]]}`, ""), `{"q":[[1],[1]]}`},
	} {
		var events []llm.Event
		for i, p := range c.pieces {
			e := llm.ToolCallDelta{ArgumentsDelta: p}
			if i == 0 {
				e.ID, e.Name = "a", "search"
			}
			events = append(events, e)
		}
		out := asked(t, llm.ChoiceAuto, []llm.ToolDef{search}, events...)
		if len(out.Calls) != 1 || out.Calls[0].Arguments != c.want {
			t.Errorf("%s: got %+v, want %s", name, out.Calls, c.want)
		}
	}
}

// FuzzFragments: pieces that make one object as the protocol says make it, and no other
// pieces make what is longer than all of them.
func FuzzFragments(f *testing.F) {
	f.Add(`{"q":"a"}`, uint8(3), true)
	f.Add(`{}`, uint8(1), false)
	f.Fuzz(func(t *testing.T, text string, size uint8, cumulative bool) {
		var f fragments
		n := max(1, int(size))
		for i := 0; i < len(text); i += n {
			end := min(len(text), i+n)
			if cumulative {
				f.add(text[:end])
			} else {
				f.add(text[i:end])
			}
		}
		got := f.arguments()
		if !cumulative && strings.HasPrefix(text, `{"`) && got != text && !f.replaced {
			t.Errorf("%q became %q", text, got)
		}
		if cumulative && strings.HasPrefix(text, `{"`) && strings.HasSuffix(text, "}") && n < len(text) && got != text && f.replaced {
			t.Errorf("%q, all so far each time, became %q", text, got)
		}
	})
}
