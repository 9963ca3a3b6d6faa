package salvage_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// told is what was told of a call before it was whole.
type told struct {
	Name string
	Args map[string]string
	// Call is the call that came of it, nil for one that was dropped.
	Call *salvage.Call
}

// follow parses the chunks and joins what is told of each call. The second result
// says what breaks the order of events.
func follow(chunks []string, o salvage.Options) (all []told, out salvage.Outcome, broken string) {
	ended := map[int]bool{}
	check := func(id int, what string) bool {
		if id < 1 || id > len(all) || ended[id] {
			broken = fmt.Sprintf("%s of call %d, which is not open", what, id)
			return false
		}
		return true
	}
	p := salvage.New(o)
	for i := range len(chunks) + 1 {
		var events []salvage.Event
		if i < len(chunks) {
			events = p.Write(chunks[i])
		} else {
			events = p.Close()
		}
		for _, e := range events {
			switch e := e.(type) {
			case salvage.CallStart:
				if e.ID != len(all)+1 {
					broken = fmt.Sprintf("call %d starts after %d others", e.ID, len(all))
				}
				all = append(all, told{Name: e.Name, Args: map[string]string{}})
			case salvage.ArgumentDelta:
				if check(e.ID, "a piece") {
					all[e.ID-1].Args[e.Key] += e.Delta
				}
				if e.Delta == "" || !utf8.ValidString(e.Delta) {
					broken = fmt.Sprintf("the piece %q", e.Delta)
				}
			case salvage.CallDropped:
				if check(e.ID, "the end") {
					ended[e.ID] = true
				}
			case salvage.Call:
				if e.ID != 0 && check(e.ID, "the whole") {
					ended[e.ID] = true
					call := e
					all[e.ID-1].Call = &call
				}
				e.ID = 0
				out.Calls = append(out.Calls, e)
			case salvage.Text:
				out.Content += e.Delta
			case salvage.Reasoning:
				out.Reasoning += e.Delta
			case salvage.Malformed:
				out.Malformed = append(out.Malformed, e.Raw)
			case salvage.Notice:
				out.Notices = append(out.Notices, e.Code)
			}
		}
	}
	if len(ended) != len(all) {
		broken = fmt.Sprintf("%d of %d calls that were told of have an end", len(ended), len(all))
	}
	return all, out, broken
}

// telling are the options of v with every tool telling of its calls. Where v has
// no tools, those of its calls are made up.
func (v vector) telling(t *testing.T) salvage.Options {
	t.Helper()
	o := v.options(t)
	if len(o.Tools) == 0 {
		for _, c := range v.Expected.Calls {
			var args map[string]any
			if json.Unmarshal(c.Arguments, &args) != nil ||
				slices.ContainsFunc(o.Tools, func(t salvage.Tool) bool { return t.Name == c.Name }) {
				continue
			}
			var properties []string
			for _, k := range slices.Sorted(maps.Keys(args)) {
				if _, ok := args[k].(string); ok {
					properties = append(properties, fmt.Sprintf(`%q:{"type":"string"}`, k))
				} else {
					properties = append(properties, fmt.Sprintf(`%q:{}`, k))
				}
			}
			o.Tools = append(o.Tools, salvage.Tool{Name: c.Name,
				Parameters: json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)})
		}
	}
	o.Tools = slices.Clone(o.Tools)
	for i := range o.Tools {
		o.Tools[i].StreamArgs = true
	}
	return o
}

// silently is o without telling.
func silently(o salvage.Options) salvage.Options {
	o.Tools = slices.Clone(o.Tools)
	for i := range o.Tools {
		o.Tools[i].StreamArgs = false
	}
	return o
}

// lies says what was told of a call and is not how it came out: a piece must begin
// what the argument is in the end.
func lies(call told) (found []string, equal, strings_ int) {
	if call.Call == nil {
		return nil, 0, 0
	}
	if call.Call.Name != call.Name {
		found = append(found, fmt.Sprintf("%s was told of and %s came", call.Name, call.Call.Name))
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(call.Call.Arguments), &args); err != nil {
		return append(found, err.Error()), 0, 0
	}
	for _, a := range args {
		if s, ok := a.(string); ok && s != "" {
			strings_++
		}
	}
	for key, got := range call.Args {
		want, ok := args[key].(string)
		if !ok || !strings.HasPrefix(want, got) {
			found = append(found, fmt.Sprintf("%s was told as %q and is %v", key, got, args[key]))
		}
		if ok && want == got {
			equal++
		}
	}
	return found, equal, strings_
}

func TestToldArgumentsAreThoseOfTheCallHoweverTheTextIsCut(t *testing.T) {
	counts := map[string]*[2]int{}
	for _, v := range load(t, filepath.Join("testdata", "calls.jsonl")) {
		o := v.telling(t)
		plain, broken := stream([]string{v.Text}, silently(o))
		if broken != "" {
			t.Fatal(broken)
		}
		whole, out, broken := follow([]string{v.Text}, o)
		if broken != "" {
			t.Errorf("%s: %s", v.ID, broken)
		}
		if !reflect.DeepEqual(out, plain) {
			t.Errorf("%s: telling changes the outcome: %s, without %s", v.ID, compact(out), compact(plain))
		}
		if counts[v.Dialect] == nil {
			counts[v.Dialect] = new([2]int)
		}
		for _, call := range whole {
			found, equal, _ := lies(call)
			counts[v.Dialect][0] += equal
			for _, f := range found {
				t.Errorf("%s: %s in %q", v.ID, f, v.Text)
			}
		}
		for _, c := range out.Calls {
			_, _, n := lies(told{Name: c.Name, Call: &c})
			counts[v.Dialect][1] += n
		}
		for name, chunks := range v.splits() {
			got, _, broken := follow(chunks, o)
			if broken != "" || !reflect.DeepEqual(got, whole) {
				t.Errorf("%s, %s: told %+v, whole %+v %s\n%q", v.ID, name, got, whole, broken, v.Text)
			}
		}
	}
	for _, d := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-30s %d of %d strings are told as they are", d, counts[d][0], counts[d][1])
		if quiet := slices.Contains(quietDialects, d); quiet == (counts[d][0]*2 > counts[d][1]) {
			t.Errorf("%s tells %d of %d strings", d, counts[d][0], counts[d][1])
		}
	}
}

// quietDialects tell nothing, or little, before a call is whole: calls without a
// marker, markers that count only at the start of a line, arguments that stand
// before the name, and elements that are read only when they are whole.
var quietDialects = []string{
	"bare_json", "bare_json_array", "bare_json_fence", "bare_tool_call_fence", "llama3_json", "llamacpp_generic",
	"openai_function_object",
	"pythonic_bare", "transcript_bracket", "transcript_calling_tool", "transcript_tool_call",
	"command_r_plus", "functionary_v32", "gemma3_tool_code", "phi4_functools", "rwkv7",
	"tool_call_array",
	"kimi_k3_xtml", "mcp_use_tool", "minimax_m3", "plamo3", "solar_open2",
}

func TestWhatIsToldOfDamagedCallsDoesNotDependOnTheSplit(t *testing.T) {
	vectors := load(t, filepath.Join("testdata", "calls.jsonl"))
	for i, v := range vectors {
		random := rand.New(rand.NewPCG(uint64(i), 11))
		for range 3 {
			w := v
			w.Text = strings.ToValidUTF8(mutate(random, v.Text, vectors[random.IntN(len(vectors))].Text), "")
			o := v.telling(t)
			whole, out, broken := follow([]string{w.Text}, o)
			if plain, _ := stream([]string{w.Text}, silently(o)); broken != "" || compact(plain) != compact(out) {
				t.Errorf("%s damaged: telling changes the outcome: %s %s, without %s\n%q", v.ID, broken, compact(out),
					compact(plain), w.Text)
			}
			for name, chunks := range w.splits() {
				if got, _, broken := follow(chunks, o); broken != "" || !reflect.DeepEqual(got, whole) {
					t.Errorf("%s damaged, %s: told %+v %s\nwhole %+v\n%q", v.ID, name, got, broken, whole, w.Text)
					break
				}
			}
		}
	}
}

func TestAnAmpersandThatBeginsNoEntityHoldsNothingBack(t *testing.T) {
	tool := salvage.Tool{Name: "write", StreamArgs: true,
		Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)}
	o := salvage.Options{Tools: []salvage.Tool{tool}}
	for _, text := range []string{
		"<minimax:tool_call>\n<invoke name=\"write\">\n<parameter " +
			"name=\"text\">salt&urchin'}}\n</tool_call>;\n</parameter>\n</invoke>",
		"<minimax:tool_call>\n<invoke name=\"write\">\n<parameter name=\"text\">a & b " +
			"&am</parameter>\n</invoke>\n</minimax:tool_call>",
	} {
		whole, _, broken := follow([]string{text}, o)
		if broken != "" {
			t.Fatal(broken)
		}
		got, _, broken := follow(strings.Split(text, ""), o)
		if broken != "" || !reflect.DeepEqual(got, whole) {
			t.Errorf("byte by byte %+v %s, whole %+v\n%q", got, broken, whole, text)
		}
	}
}

func TestAnArgumentIsToldBeforeItsCallIsWhole(t *testing.T) {
	tool := salvage.Tool{Name: "write", StreamArgs: true,
		Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"},"n":{"type":"integer"}}}`)}
	for name, text := range map[string]string{
		"json":      `<tool_call>{"name":"write","arguments":{"n":3,"text":"one \u00e9 \ud83d\ude00 tw`,
		"args":      `[TOOL_CALLS]write[ARGS]{"text":"one \u00e9 \ud83d\ude00 tw`,
		"encoded":   `<tool_call>{"name":"write","arguments":"{\"text\":\"one \\u00e9 \\ud83d\\ude00 tw`,
		"function":  "<function=write>\n<parameter=text>\none é 😀 tw",
		"invoke":    `<invoke name="write"><parameter name="text">one é 😀 tw`,
		"arg_value": "<tool_call>write\n<arg_key>text</arg_key>\n<arg_value>one é 😀 tw",
		"gemma":     `<|tool_call>call:write{n:3,text:<|"|>one é 😀 tw`,
		"python":    `<|tool_call_start|>[write(n=3, text='one \u00e9 😀 tw`,
	} {
		p, got, started := salvage.New(salvage.Options{Tools: []salvage.Tool{tool}}), "", 0
		for i := range len(text) {
			for _, e := range p.Write(text[i : i+1]) {
				switch e := e.(type) {
				case salvage.CallStart:
					started++
				case salvage.ArgumentDelta:
					if e.Key != "text" {
						t.Errorf("%s: told %q of %s", name, e.Delta, e.Key)
					}
					got += e.Delta
				default:
					t.Errorf("%s: %T before the call is whole", name, e)
				}
			}
		}
		if started != 1 || got != `one é 😀 tw` {
			t.Errorf("%s: %d calls told of, with %q", name, started, got)
		}
	}
}

func TestOnlyStringsThatTheSchemaNamesAreTold(t *testing.T) {
	tool := salvage.Tool{Name: "f", StreamArgs: true,
		Parameters: json.RawMessage(`{"properties":{"a":{"type":"string"},"n":{"type":"integer"},"o":{"type":"object"}}}`)}
	for _, text := range []string{
		`<tool_call>{"name":"f","arguments":{"n":"12","o":{"a":"deep"},"other":"x","a":"told"}}</tool_call>`,
		`[TOOL_CALLS]f[ARGS]{"n":"12","o":{"a":"deep"},"other":"x","a":"told","a":"twice"}`,
		`<function=f><parameter=n>12</parameter><parameter=o>{"a":"deep"}</parameter><parameter=other>x</parameter><parameter=a>told</parameter></function>`,
	} {
		all, _, broken := follow([]string{text}, salvage.Options{Tools: []salvage.Tool{tool}})
		if len(all) != 1 || broken != "" || !reflect.DeepEqual(all[0].Args, map[string]string{"a": "told"}) {
			t.Errorf("%s: told %+v %s", text, all, broken)
		}
	}
}

func TestCallsWithoutAMarkerInReasoningAndUnderNoneAreNotTold(t *testing.T) {
	tool := salvage.Tool{Name: "f", StreamArgs: true}
	const call = `<tool_call>{"name":"f","arguments":{"a":"x"}}</tool_call>`
	for name, c := range map[string]struct {
		text string
		o    salvage.Options
	}{
		"bare":          {`{"name":"f","arguments":{"a":"x"}}`, salvage.Options{}},
		"open thinking": {"<think>" + call, salvage.Options{}},
		"none":          {call, salvage.Options{None: true}},
		"fence":         {"An example:\n\nIt reads\n```json\n" + call + "\n```\nis an example", salvage.Options{}},
		"unknown":       {`<tool_call>{"name":"g","arguments":{"a":"x"}}</tool_call>`, salvage.Options{}},
	} {
		c.o.Tools = []salvage.Tool{tool}
		if all, _, broken := follow(chunked(c.text, 3), c.o); len(all) != 0 || broken != "" {
			t.Errorf("%s: told %+v %s", name, all, broken)
		}
	}
}

func TestCallsThatAreNoneAfterAllAreDropped(t *testing.T) {
	tool := salvage.Tool{Name: "f", StreamArgs: true}
	const call = `<tool_call>{"name":"f","arguments":{"a":"x"}}</tool_call>`
	for name, c := range map[string]struct {
		text        string
		told, calls int
	}{
		"a model in a loop":         {call + call + call, 3, 1},
		"twice is meant":            {call + call, 2, 2},
		"arguments without a value": {`<tool_call>{"name":"f","arguments":{"a":"x","b"`, 1, 0},
		"more than a call may be": {`<tool_call>{"name":"f","arguments":{"a":"` + strings.Repeat("x",
			salvage.MaxCallBytes), 1, 0},
		"another name behind it": {`<tool_call>{"function":"f","arguments":{"a":"x"},"name":"g"}</tool_call>`, 1,
			1},
		"cut off inside an argument": {`<tool_call>{"name":"f","arguments":{"a":"x`, 1, 1},
	} {
		all, out, broken := follow(chunked(c.text, 4096), salvage.Options{Tools: []salvage.Tool{tool, {Name: "g"}}})
		kept := 0
		for _, call := range all {
			if call.Call != nil {
				kept++
			}
		}
		if len(all) != c.told || len(out.Calls) != c.calls || broken != "" || kept != c.calls &&
			name != "another name behind it" {
			t.Errorf("%s: told %d and kept %d, %d calls, %s", name, len(all), kept, len(out.Calls), broken)
		}
	}
}

// TestNativeArgumentsAreToldAsFitReadsThem cuts arguments at every byte.
func TestNativeArgumentsAreToldAsFitReadsThem(t *testing.T) {
	tool := salvage.Tool{Name: "f", Parameters: json.RawMessage(`{"properties":{"a":{"type":"string"},"b":{"type":"string"},"n":{"type":"integer"}}}`)}
	for text, want := range map[string]map[string]string{
		`{"a":"x","b":"y"}`: {"a": "x", "b": "y"},
		` { "n" : 3 , "a" : "q\"\\\n\u0000\ud83d\ude00" }`:       {"a": "q\"\\\n😀"},
		`{"a":"\ud83d lone \udc00"}`:                             {"a": " lone "},
		`{"a":"raw` + "\n\t" + `line","n":[1,{"a":"]"}],"b":""}`: {"a": "raw\n\tline"},
		`{'a':'it','b':"x"}`:                                     {"a": "it", "b": "x"},
		`{"a":"he said "no" to it","b":"x"}`:                     {"a": `he said "no" to it`, "b": "x"},
		`{"a":"é` + "\xff" + `z"}`:                               {"a": "é\ufffdz"},
		`{"a":"\q \x41 \u12 "}`:                                  {"a": `\q \x41 \u12 `},
		`["a"]`:                                                  {},
		`{"a":"cut`:                                              {"a": "cut"},
		`{"a":"x","b":"y",}`:                                     {"a": "x", "b": "y"},
		`{"a":"""x"""}`:                                          {},
	} {
		for first := range len(text) + 1 {
			a, got := salvage.NewArguments(tool), map[string]string{}
			for _, piece := range []string{text[:first], text[first:]} {
				for _, d := range a.Write(piece) {
					got[d.Key] += d.Delta
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s cut at %d: told %q, want %q", text, first, got, want)
			}
		}
		fitted, err := salvage.Fit(tool, text)
		var whole map[string]any
		if err != nil || json.Unmarshal([]byte(fitted.Arguments), &whole) != nil {
			continue
		}
		for k, v := range want {
			if whole[k] != v {
				t.Errorf("%s: told %s as %q, it is %q", text, k, v, whole[k])
			}
		}
	}
}

// FuzzNativeArguments cuts arbitrary arguments anywhere: what is told does not
// depend on the cut, and a JSON object without repeated keys is told as it is.
func FuzzNativeArguments(f *testing.F) {
	f.Add(`{"a":"x\u00e9\ud83d\ude00","b":[1,{"c":"]"}],"d":"\\"}`, 9)
	f.Add(`{'a': 'it''s', b: "y"`, 3)
	f.Add(`{"a":"\ud83d\u0041","b":"\`, 7)
	f.Fuzz(func(t *testing.T, text string, first int) {
		tell := func(pieces ...string) map[string]string {
			a, got := salvage.NewArguments(salvage.Tool{Name: "f"}), map[string]string{}
			for _, p := range pieces {
				for _, d := range a.Write(p) {
					got[d.Key] += d.Delta
				}
			}
			return got
		}
		whole := tell(text)
		first = max(0, min(first, len(text)))
		if cut := tell(text[:first], text[first:]); !reflect.DeepEqual(cut, whole) {
			t.Fatalf("%q cut at %d: %q, whole %q", text, first, cut, whole)
		}
		if single := tell(strings.Split(text, "")...); utf8.ValidString(text) && !reflect.DeepEqual(single, whole) {
			t.Fatalf("%q in characters: %q, whole %q", text, single, whole)
		}
	})
}
