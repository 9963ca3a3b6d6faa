package salvage_test

import (
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// mutate cuts, doubles, moves or swaps a stretch of the text, or puts a piece of
// another text into it.
func mutate(random *rand.Rand, text, other string) string {
	if text == "" {
		return other
	}
	at := random.IntN(len(text))
	end := min(len(text), at+1+random.IntN(24))
	switch random.IntN(6) {
	case 0:
		return text[:at]
	case 1:
		return text[:at] + text[end:]
	case 2:
		return text[:end] + text[at:]
	case 3:
		return text[at:] + text[:at]
	case 4:
		cut := random.IntN(len(other) + 1)
		return text[:at] + other[cut:] + text[end:]
	default:
		return text[:at] + string(other[random.IntN(len(other))]) + text[end:]
	}
}

// TestMutatedVectorsDoNotDependOnTheSplit damages every vector and checks that
// any split still gives the same outcome, that nothing panics, and that valid
// UTF-8 comes out as such.
func TestMutatedVectorsDoNotDependOnTheSplit(t *testing.T) {
	vectors := load(t, filepath.Join("testdata", "calls.jsonl"))
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	failed := 0
	for i, v := range vectors {
		h := fnv.New64a()
		h.Write([]byte(v.ID)) // a hash never fails to write
		random := rand.New(rand.NewPCG(h.Sum64(), 7))
		for range rounds {
			w := v
			w.Text = strings.ToValidUTF8(mutate(random, v.Text,
				vectors[(i+1+random.IntN(len(vectors)-1))%len(vectors)].Text), "")
			if found := splitProblem(t, w); found != "" {
				failed++
				t.Errorf("%s damaged: %q\n\t%s", v.ID, w.Text, found)
			}
		}
		if failed > 20 {
			t.Fatal("more than 20 failures, the rest is not tried")
		}
	}
}

// TestSoupDoesNotDependOnTheSplit strings markers, halves of vectors, prose and
// single signs together as no model would.
func TestSoupDoesNotDependOnTheSplit(t *testing.T) {
	soup := soup{
		calls:  load(t, filepath.Join("testdata", "calls.jsonl")),
		prose:  load(t, filepath.Join("testdata", "prose.jsonl")),
		random: rand.New(rand.NewPCG(5, 11)),
	}
	rounds := 6000
	if testing.Short() {
		rounds = 600
	}
	for i, failed := 0, 0; i < rounds && failed < 10; i++ {
		v := soup.vector()
		if found := splitProblem(t, v); found != "" {
			failed++
			v = shrink(t, v)
			t.Errorf("%q tools %s open %v choice %q\n\t%s", v.Text, v.Tools, v.ReasoningOpen, v.ToolChoice,
				splitProblem(t, v))
		}
	}
}

type soup struct {
	calls, prose []vector
	random       *rand.Rand
}

var signs = []string{"{", "}", "[", "]", "\"", "'", "`", "```", "\n", "\n\n", " ", ">", "<", "<|", "|>", "/",
	"get_weather", "call:", "(", ")",
	"{\"name\": \"ping\"}", "[ping()]", "{\"a\": [1, \"x\"]}", "function", "commentary to=functions.f", "Some text. ",
	"é", "｜", "\u00a0",
	"```json\n", "~~~", "Action:", "functions.f:0", "<invoke name=\"f\">", "<parameter name=\"a\">", "<function=f>",
	"<parameter=a>", "</s:invoke>"}

// piece is a marker, a sign, a text of prose.jsonl, or a stretch of a vector.
func (s soup) piece() string {
	switch s.random.IntN(6) {
	case 0:
		return markers[s.random.IntN(len(markers))]
	case 1:
		return signs[s.random.IntN(len(signs))]
	case 2:
		return s.prose[s.random.IntN(len(s.prose))].Text
	}
	text := s.calls[s.random.IntN(len(s.calls))].Text
	from := s.random.IntN(len(text))
	return text[from : from+s.random.IntN(len(text)-from+1)]
}

func (s soup) vector() vector {
	var text strings.Builder
	for range 1 + s.random.IntN(7) {
		text.WriteString(s.piece())
	}
	v := vector{Text: strings.ToValidUTF8(text.String()[:min(4096, text.Len())], "")}
	v.ID = v.Text
	v.ReasoningOpen = s.random.IntN(6) == 0
	v.ToolChoice = []string{"", "", "", "", "required", "none"}[s.random.IntN(6)]
	if s.random.IntN(2) == 0 {
		v.Tools = []byte(`[{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}, {"name": "ping"}]`)
	}
	return v
}

// shrink cuts stretches out of a failing text as long as it goes on failing.
func shrink(t *testing.T, v vector) vector {
	t.Helper()
	for size := len(v.Text) / 2; size > 0; {
		smaller := false
		for at := 0; at+size <= len(v.Text) && !smaller; at++ {
			w := v
			w.Text = strings.ToValidUTF8(v.Text[:at]+v.Text[at+size:], "")
			if splitProblem(t, w) != "" {
				v, smaller = w, true
			}
		}
		if !smaller {
			size /= 2
		}
		size = min(size, len(v.Text)/2)
	}
	return v
}

func splitProblem(t *testing.T, v vector) string {
	t.Helper()
	o := v.options(t)
	whole, broken := stream([]string{v.Text}, o)
	if broken != "" {
		return "whole: " + broken
	}
	for name, chunks := range v.splits() {
		got, broken := stream(chunks, o)
		if broken != "" {
			return name + ": " + broken
		}
		if !reflect.DeepEqual(got, whole) {
			return name + ": " + compact(got) + "\n\twhole: " + compact(whole)
		}
	}
	return ""
}
