package salvage_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// vector is one line of testdata/calls.jsonl, testdata/prose.jsonl or of the
// shared vectors. testdata/README.md says what the fields mean.
type vector struct {
	ID            string
	Dialect       string
	Format        string // the shared vectors' word for Dialect
	Kind          string
	Tier          string
	Text          string
	Tools         json.RawMessage
	ReasoningOpen bool     `json:"reasoning_open"`
	ToolChoice    string   `json:"tool_choice"`
	Open          []string // fields of expected that the specification leaves open
	LeakOK        bool     `json:"leak_ok"`
	Expected      struct {
		Content   pieces
		Reasoning *string
		Calls     []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
}

// pieces is a string, or a list of strings between which calls stood, or null:
// not compared.
type pieces []string

func (p *pieces) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil && data[0] == '"' {
		*p = pieces{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(p))
}

// match tells whether content is these pieces in order, with nothing but
// whitespace before, between and after them.
func (p pieces) match(content string) bool {
	rest := strings.TrimSpace(content)
	for _, piece := range p {
		after, ok := strings.CutPrefix(rest, strings.TrimSpace(piece))
		if !ok {
			return false
		}
		rest = strings.TrimSpace(after)
	}
	return rest == ""
}

func load(t *testing.T, path string) []vector {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []vector
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s line %d: %v", path, len(out)+1, err)
		}
		if v.Dialect == "" {
			v.Dialect = v.Format
		}
		out = append(out, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func (v vector) options(t *testing.T) salvage.Options {
	t.Helper()
	tools, err := salvage.ParseTools(v.Tools)
	if err != nil {
		t.Fatalf("%s: %v", v.ID, err)
	}
	choice := strings.ToLower(v.ToolChoice)
	return salvage.Options{Tools: tools, ReasoningOpen: v.ReasoningOpen, Required: choice == "required",
		None: choice == "none"}
}

// stream parses the chunks. The second result tells what was wrong with single
// events, a panic included.
func stream(chunks []string, o salvage.Options) (out salvage.Outcome, broken string) {
	defer func() {
		if r := recover(); r != nil {
			broken = fmt.Sprintf("panic: %v", r)
		}
	}()
	p := salvage.New(o)
	add := func(events []salvage.Event) {
		for _, e := range events {
			switch e := e.(type) {
			case salvage.Text:
				out.Content += e.Delta
				if !utf8.ValidString(e.Delta) {
					broken = fmt.Sprintf("a text event cuts a character: %q", e.Delta)
				}
			case salvage.Reasoning:
				out.Reasoning += e.Delta
				if !utf8.ValidString(e.Delta) {
					broken = fmt.Sprintf("a reasoning event cuts a character: %q", e.Delta)
				}
			case salvage.Call:
				out.Calls = append(out.Calls, e)
			case salvage.Malformed:
				out.Malformed = append(out.Malformed, e.Raw)
			case salvage.Notice:
				out.Notices = append(out.Notices, e.Code)
			}
		}
	}
	for _, c := range chunks {
		add(p.Write(c))
	}
	add(p.Close())
	return out, broken
}

// splits are byte by byte and random cuts that depend on the id alone.
func (v vector) splits() map[string][]string {
	var single []string
	for i := range len(v.Text) {
		single = append(single, v.Text[i:i+1])
	}
	out := map[string][]string{"byte by byte": single}
	h := fnv.New64a()
	h.Write([]byte(v.ID)) // a hash never fails to write
	random := rand.New(rand.NewPCG(h.Sum64(), 5))
	for n, longest := range []int{3, 7, 16, 40, 200} {
		var chunks []string
		for rest := v.Text; rest != ""; {
			size := min(1+random.IntN(longest), len(rest))
			chunks, rest = append(chunks, rest[:size]), rest[size:]
		}
		out[fmt.Sprintf("random cuts %d", n)] = chunks
	}
	return out
}

// problems parses the vector in all ways and says what is not as expected.
func (v vector) problems(t *testing.T, judge func(vector, salvage.Outcome) []string) []string {
	t.Helper()
	o := v.options(t)
	whole, broken := stream([]string{v.Text}, o)
	found := judge(v, whole)
	if broken != "" {
		found = append(found, "whole: "+broken)
	}
	cut := v.splits()
	for _, name := range slices.Sorted(maps.Keys(cut)) {
		got, broken := stream(cut[name], o)
		if broken != "" {
			found = append(found, name+": "+broken)
		} else if !reflect.DeepEqual(got, whole) {
			found = append(found, fmt.Sprintf("%s differs from whole: %s", name, compact(got)))
		}
		if len(found) > 2 {
			break
		}
	}
	if len(found) > 0 {
		found = append(found, "got "+compact(whole))
	}
	return found
}

// known reads testdata/open.txt: ids of vectors that fail today, one a line with
// the reason after a space.
func known(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "open.txt"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if id, reason, _ := strings.Cut(strings.TrimSpace(line), " "); id != "" && id != "#" {
			out[id] = reason
		}
	}
	return out
}

// tally counts passes per dialect.
type tally map[string]*[2]int

func (c tally) count(name string, passed bool) {
	if c[name] == nil {
		c[name] = new([2]int)
	}
	c[name][1]++
	if passed {
		c[name][0]++
	}
}

func (c tally) log(t *testing.T) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(c)) {
		t.Logf("%-30s %d of %d", name, c[name][0], c[name][1])
	}
}

// run makes a subtest of each vector. Vectors that need not pass are counted and
// logged; vectors of open.txt must fail, so that the list only shrinks.
func run(t *testing.T, vectors []vector, judge func(vector, salvage.Outcome) []string, required func(vector) bool) {
	t.Helper()
	open, passes := known(t), tally{}
	for _, v := range vectors {
		found := v.problems(t, judge)
		text := fmt.Sprintf("%s | %s | %q\n\t%s", v.ID, v.Dialect, v.Text, strings.Join(found, "\n\t"))
		if !required(v) {
			passes.count("("+v.Tier+", not required)", len(found) == 0)
			if len(found) > 0 {
				t.Logf("not required: %s", text)
			}
			continue
		}
		passes.count(v.Dialect, len(found) == 0)
		reason, listed := open[v.ID]
		t.Run(v.ID, func(t *testing.T) {
			switch {
			case listed && len(found) == 0:
				t.Errorf("%s passes: take it out of testdata/open.txt", v.ID)
			case listed:
				t.Skipf("known (%s): %s", reason, text)
			case len(found) > 0:
				t.Error(text)
			}
		})
	}
	passes.log(t)
}

func TestCallsOfEveryDialectAreFound(t *testing.T) {
	run(t, load(t, filepath.Join("testdata", "calls.jsonl")), judgeCall,
		func(v vector) bool { return v.Tier != "open" })
}

func TestProseComesOutAsItWentIn(t *testing.T) {
	run(t, load(t, filepath.Join("testdata", "prose.jsonl")), judgeProse, func(vector) bool { return true })
}

func TestVectorsCoverTheCatalogue(t *testing.T) {
	dialects, ids, calls := map[string]int{}, map[string]bool{}, 0
	for _, v := range load(t, filepath.Join("testdata", "calls.jsonl")) {
		if ids[v.ID] {
			t.Errorf("the id %s occurs twice", v.ID)
		}
		ids[v.ID] = true
		if v.Tier != "open" {
			dialects[v.Dialect]++
			calls++
		}
	}
	texts := map[string]bool{}
	for _, v := range load(t, filepath.Join("testdata", "prose.jsonl")) {
		if ids[v.ID] || texts[v.Text] {
			t.Errorf("the id or text of %s occurs twice", v.ID)
		}
		ids[v.ID], texts[v.Text] = true, true
	}
	t.Logf("%d call vectors over %d dialects, %d texts that must not fire", calls, len(dialects), len(texts))
	if calls < 300 || len(dialects) < 40 || len(texts) < 100 {
		t.Error("want at least 300 call vectors over 40 dialects and 100 texts that must not fire")
	}
	for id := range known(t) {
		if !ids[id] {
			t.Errorf("testdata/open.txt lists %s, which no vector has", id)
		}
	}
}
