package pdk

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

type greetArgs struct {
	Name  string   `json:"name" doc:"Whom to greet."`
	Times int      `json:"times,omitempty"`
	Tone  string   `json:"tone,omitempty" enum:"warm,plain"`
	Tags  []string `json:"tags,omitempty"`
	//lint:ignore U1000 a field that is not exported must stay out of the schema
	inner int
}

// with registers tools for one test.
func with(t *testing.T, list ...Tool) {
	t.Helper()
	before := tools
	tools = nil
	t.Cleanup(func() { tools = before })
	Register(list...)
}

func callTool(t *testing.T, input string) (out callOutput, docs []Document) {
	t.Helper()
	data, err := CallTool([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	if raw, ok := out.Meta["bulkhead/documents"]; ok {
		again, _ := json.Marshal(raw)
		if err := json.Unmarshal(again, &docs); err != nil {
			t.Fatal(err)
		}
	}
	return out, docs
}

func TestSchemaIsDerivedFromAStruct(t *testing.T) {
	var got, want any
	if err := json.Unmarshal(Schema[greetArgs](), &got); err != nil {
		t.Fatal(err)
	}
	err := json.Unmarshal([]byte(`{"type":"object","additionalProperties":false,"required":["name"],"properties":{
		"name":{"type":"string","description":"Whom to greet."},"times":{"type":"integer"},
		"tone":{"type":"string","enum":["warm","plain"]},"tags":{"type":"array","items":{"type":"string"}}}}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("schema is %s", Schema[greetArgs]())
	}
}

func TestListToolsAnswersTheProtocol(t *testing.T) {
	with(t, Func("greet", "Greet", "Greets a person.",
		func(*Call, greetArgs) (Result, error) { return Text("hi"), nil }))
	data, err := ListTools()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(data), `{"tools":[{"name":"greet","title":"Greet","description":"Greets a person.","inputSchema":{`) {
		t.Fatalf("list is %s", data)
	}
}

func TestACallHasItsContext(t *testing.T) {
	var seen Context
	with(t, Func("look", "", "", func(c *Call, _ struct{}) (Result, error) {
		seen = c.Context
		return Text("ok"), nil
	}))
	callTool(t, `{"request":{"name":"look"},"context":{"id":"c7","_meta":{"bulkhead/refs":{"start":101,"count":100},
		"bulkhead/now":"2026-03-01T12:00:00Z","bulkhead/query":"why?","bulkhead/history":[{"role":"user","text":"hello"}],
		"bulkhead/user":{"id":"u","locale":"de"},"bulkhead/citations":{"doc":4},"other/field":1}}}`)
	want := Context{ID: "c7", Refs: Refs{101, 100}, Now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Query: "why?",
		History: []Message{{"user", "hello"}}, User: User{ID: "u", Locale: "de"}, Citations: map[string]int{"doc": 4}}
	if !reflect.DeepEqual(seen, want) {
		t.Fatalf("context is %+v", seen)
	}
}

func TestCiteKeepsRefsAndStopsAtTheEndOfTheRange(t *testing.T) {
	var refs []int
	with(t, Func("cite", "", "", func(c *Call, _ struct{}) (Result, error) {
		for _, d := range []Document{{ID: "a"}, {ID: "known"}, {ID: "a"}, {ID: "b", URL: "https://example.org/"},
			{ID: "c"}, {ID: "d"}} {
			refs = append(refs, c.Cite(d))
		}
		return Text("ok"), nil
	}))
	_, docs := callTool(t, `{"request":{"name":"cite","arguments":{}},"context":{"_meta":{"bulkhead/refs":{"start":10,"count":2},
		"bulkhead/citations":{"known":3,"https://example.org/":4}}}}`)
	if want := []int{10, 3, 10, 4, 11, 0}; !reflect.DeepEqual(refs, want) {
		t.Fatalf("refs are %v, want %v", refs, want)
	}
	if len(docs) != 4 || docs[1].ID != "known" || docs[1].Ref != 3 {
		t.Fatalf("documents are %+v", docs)
	}
}

func TestWhatGoesWrongIsToldToTheModel(t *testing.T) {
	with(t,
		Func("greet", "", "", func(*Call, greetArgs) (Result, error) { return Text("hi"), nil }),
		Func("err", "", "", func(*Call, struct{}) (Result, error) { return Result{}, errors.New("no such town") }),
		Func("panics", "", "", func(*Call, struct{}) (Result, error) { panic("ouch") }))
	cases := []struct{ name, input, says string }{
		{"unknown argument", `{"request":{"name":"greet","arguments":{"nam":"x"}}}`, `"nam"`},
		{"schema in the text", `{"request":{"name":"greet","arguments":{"name":5}}}`, `"properties"`},
		{"two objects", `{"request":{"name":"greet","arguments":"x"}}`, "wrong"},
		{"unknown tool", `{"request":{"name":"gret"}}`, "greet, err, panics"},
		{"error", `{"request":{"name":"err"}}`, "no such town"},
		{"panic", `{"request":{"name":"panics"}}`, "ouch"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, _ := callTool(t, c.input)
			if !out.IsError || len(out.Content) != 1 || !strings.Contains(out.Content[0].Text, c.says) {
				t.Fatalf("output is %+v", out)
			}
		})
	}
	if _, err := CallTool([]byte(`{`)); err == nil {
		t.Fatal("input that is not JSON is no error")
	}
}

func TestHostFunctionsWithoutAHostAreUnavailable(t *testing.T) {
	if _, err := KnowledgeSearch("x", 1); !IsKind(err, Unavailable) {
		t.Fatalf("error is %v", err)
	}
}

func TestHostFunctionsSpeakTheProtocol(t *testing.T) {
	var asked []string
	answers := map[string]string{
		"knowledge_search": `{"ok":{"hits":[{"document_id":"d","score":1.5}]}}`,
		"knowledge_read":   `{"ok":{"text":"abc","total":9}}`,
		"kv_get":           `{"ok":{"value":"v","found":true}}`,
		"kv_list":          `{"ok":{"keys":["a","b"]}}`,
		"kv_put":           `{"error":{"kind":"quota","message":"full"}}`,
	}
	defer SetHost(HostFunc(func(function string, in []byte) []byte {
		asked = append(asked, function+" "+string(in))
		if a := answers[function]; a != "" {
			return []byte(a)
		}
		return []byte(`{"ok":null}`)
	}))()
	if hits, err := KnowledgeSearch("q", 3); err != nil || hits[0].DocumentID != "d" {
		t.Error(hits, err)
	}
	if text, total, err := KnowledgeRead("d", 2, 3); err != nil || text != "abc" || total != 9 {
		t.Error(text, total, err)
	}
	if v, found, err := KVGet("k"); err != nil || !found || v != "v" {
		t.Error(v, found, err)
	}
	if keys, err := KVList(""); err != nil || len(keys) != 2 {
		t.Error(keys, err)
	}
	if err := KVPut("k", "v"); !IsKind(err, Quota) {
		t.Error(err)
	}
	if err := errors.Join(KVDelete("k"), Progress("half", 0.5), Progress("soon", -1), Output("text", "x"),
		ShowDocuments(Document{ID: "d"})); err != nil {
		t.Error(err)
	}
	all := strings.Join(asked, "\n")
	for _, want := range []string{`knowledge_search {"limit":3,"query":"q"}`,
		`emit {"progress":{"fraction":0.5,"message":"half"}}`,
		`emit {"progress":{"message":"soon"}}`, `emit {"output":{"channel":"text","delta":"x"}}`} {
		if !strings.Contains(all, want) {
			t.Errorf("%s was not asked in\n%s", want, all)
		}
	}
}

func TestRegisterRefusesToolsThatCannotWork(t *testing.T) {
	ok := Tool{Name: "a", Handle: func(*Call) (Result, error) { return Result{}, nil }}
	for name, list := range map[string][]Tool{"no name": {{Handle: ok.Handle}}, "no handler": {{Name: "a"}},
		"twice": {ok, ok}} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Fatal("want a panic")
				}
			}()
			with(t, list...)
		})
	}
}

// FuzzCallTool holds that no input ends the plugin and that what comes out is
// the protocol's JSON.
func FuzzCallTool(f *testing.F) {
	f.Add([]byte(`{"request":{"name":"greet","arguments":{"name":"x"}},"context":{"_meta":{"bulkhead/refs":{"start":1,"count":2}}}}`))
	f.Add([]byte(`{"request":{"name":"greet","arguments":[]}}`))
	f.Add([]byte(`{"context":{"_meta":null}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		with(t, Func("greet", "", "", func(c *Call, a greetArgs) (Result, error) {
			c.Cite(Document{ID: a.Name})
			return Text(a.Name), nil
		}))
		out, err := CallTool(in)
		if err == nil && !json.Valid(out) {
			t.Fatalf("output is %q", out)
		}
	})
}
