package capability

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const documented = `{"manifest":1,"name":"open_url","version":"1.0.0","title":"Open URL","description":"…","license":"Apache-2.0",
 "protocol":"tools.v2",
 "capabilities":{
   "http":{"allow":[{"host":"*","methods":["GET","HEAD"],"path_prefix":"/"}],"max_response_bytes":20971520,
           "credentials":{"github":{"hosts":["api.github.com"],"inject":{"type":"bearer"}}}},
   "context":{"fields":["query","citations"]},
   "kv":{"quota_bytes":1048576,"scope":"user"}},
 "limits":{"memory_mib":64,"fuel":20000000000,"timeout_ms":120000,"output_bytes":1048576,"concurrency":8,"isolation":"reset"},
 "tools":{"open_url":{"labels":["untrusted_content"],"cites":true,"merge":"urls","stream_args":false,
          "stops_loop":false,"needs":["query","citations"],"approval":"allow"}},
 "assets":"bulkhead.assets"}`

func TestTheDocumentedManifestParses(t *testing.T) {
	m, err := ParseManifest([]byte(documented))
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "open_url" || m.Limits.Concurrency != 8 || m.Tool("open_url").Merge != "urls" {
		t.Fatalf("fields are lost: %+v", m)
	}
	p, ok := m.Asks(HTTP)
	if !ok || p.(*HTTPParams).Credentials["github"].Inject.Type != "bearer" {
		t.Fatalf("the ask for http is lost: %+v", p)
	}
	if _, ok := m.Asks(Knowledge); ok {
		t.Fatal("a capability that was not asked for is an ask")
	}
	if len(m.Wishes()) != 3 || !strings.HasPrefix(m.Wishes()[0].Sentence, "open_url wants to fetch") {
		t.Fatalf("wishes: %+v", m.Wishes())
	}
}

func TestAWishIsToldInPlainWords(t *testing.T) {
	cases := []struct{ asks, sentence string }{
		{`"http":{"allow":[{"host":"*","methods":["GET","HEAD"]}]}`,
			"a wants to fetch addresses on the network (any address by GET or HEAD)."},
		{`"http":{"allow":[{"host":"x.example"}]}`,
			"a wants to fetch addresses on the network (x.example by any method)."},
		{`"context":{"fields":["query","citations"]}`,
			"a wants to know parts of your conversation (the question, which documents are cited)."},
		{`"context":{}`, "a wants to know parts of your conversation."},
		{`"memory":{"access":["read","write"]}`, "a wants to use what is remembered about you."},
		{`"memory":{"access":["write"]}`, "a wants to use what is remembered about you (only to write)."},
		{`"files":{"access":["read"]}`, "a wants to use your files (of this conversation; only to read)."},
	}
	for _, c := range cases {
		m, err := ParseManifest([]byte(`{"manifest":1,"name":"a","version":"1","capabilities":{` + c.asks + `}}`))
		if err != nil {
			t.Fatalf("%s: %v", c.asks, err)
		}
		if w := m.Wishes(); len(w) != 1 || w[0].Sentence != c.sentence {
			t.Errorf("%s is told as %+v, want %q", c.asks, w, c.sentence)
		}
	}
	for _, f := range contextFields {
		if fieldWords[f] == "" {
			t.Errorf("there are no words for the field %q", f)
		}
	}
}

func TestAMistakeInAManifestIsNamedWithItsPlace(t *testing.T) {
	base := `"manifest":1,"name":"a","version":"1"`
	cases := []struct{ name, json, path string }{
		{"unknown at the top", `{` + base + `,"titel":"x"}`, "titel"},
		{"unknown in a tool", `{` + base + `,"tools":{"t":{"mergo":"x"}}}`, "tools.t.mergo"},
		{"unknown in http", `{` + base + `,"capabilities":{"http":{"allow":[{"host":"*","verbs":[]}]}}}`,
			"capabilities.http.allow[0].verbs"},
		{"unknown capability", `{` + base + `,"capabilities":{"htpp":{}}}`, "capabilities.htpp"},
		{"case of a field", `{` + base + `,"Title":"x"}`, "Title"},
		{"given twice", `{` + base + `,"name":"b"}`, "name"},
		{"null", `{` + base + `,"title":null}`, "title"},
		{"version of the format", `{"manifest":2,"name":"a","version":"1"}`, "manifest"},
		{"name", `{"manifest":1,"name":"A","version":"1"}`, "name"},
		{"long name", `{"manifest":1,"name":"a` + strings.Repeat("b", 63) + `","version":"1"}`, "name"},
		{"no version", `{"manifest":1,"name":"a"}`, "version"},
		{"wrong type", `{` + base + `,"dynamic":"yes"}`, "dynamic"},
		{"fraction", `{` + base + `,"limits":{"memory_mib":1.5}}`, "limits.memory_mib"},
		{"memory", `{` + base + `,"limits":{"memory_mib":4097}}`, "limits.memory_mib"},
		{"negative", `{` + base + `,"limits":{"fuel":-1}}`, "limits.fuel"},
		{"isolation", `{` + base + `,"limits":{"isolation":"none"}}`, "limits.isolation"},
		{"merge and stream_args", `{` + base + `,"tools":{"t":{"merge":"q","stream_args":true}}}`, "tools.t"},
		{"label", `{` + base + `,"tools":{"t":{"labels":["secret"]}}}`, "tools.t.labels[0]"},
		{"need", `{` + base + `,"tools":{"t":{"needs":["query","name"]}}}`, "tools.t.needs[1]"},
		{"approval", `{` + base + `,"tools":{"t":{"approval":"maybe"}}}`, "tools.t.approval"},
		{"wasi elsewhere", `{` + base + `,"tools":{"t":{"wasi":{"argv":[]}}}}`, "tools.t.wasi"},
		{"kv scope", `{` + base + `,"capabilities":{"kv":{"scope":"all"}}}`, "capabilities.kv.scope"},
		{"credential without hosts", `{` + base + `,"capabilities":{"http":{"credentials":{"g":{"hosts":[],"inject":{"type":"bearer"}}}}}}`, "capabilities.http.credentials.g.hosts"},
		{"not an object", `[]`, ""},
		{"not JSON", `{`, ""},
		{"two values", `{} {}`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseManifest([]byte(c.json))
			var f *Fault
			if !errors.As(err, &f) {
				t.Fatalf("error is %v, want a *Fault", err)
			}
			if f.Path != c.path {
				t.Errorf("path is %q, want %q (%v)", f.Path, c.path, err)
			}
			if unknown := strings.HasPrefix(c.name, "unknown") ||
				c.name == "case of a field"; errors.Is(err, ErrUnknownField) != unknown {
				t.Errorf("errors.Is(ErrUnknownField) is %v for %v", !unknown, err)
			}
		})
	}
}

func TestAnyToolIsTheEntryForToolsNotNamed(t *testing.T) {
	m, err := ParseManifest([]byte(`{"manifest":1,"name":"a","version":"1","tools":{"*":{"cites":true},"b":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if !m.Tool("x").Cites || m.Tool("b").Cites {
		t.Fatal("the entry * must hold for tools that are not named, and for those only")
	}
}

// FuzzParseManifest holds that what was accepted is accepted again after a round
// through JSON, and that a refusal is a *Fault.
func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(documented))
	f.Add([]byte(`{"manifest":1,"name":"a","version":"1","dynamic":true,"capabilities":{"emit":{},"tools":{"aliases":["x"],"depth":4}}}`))
	f.Add([]byte(`{"manifest":1,"name":"a","version":"1","protocol":"wasi-command","tools":{"*":{"wasi":{"argv":["{x}"],"stdin":"text"}}}}`))
	f.Add([]byte(`{"capabilities":{"http":{"allow":[[[[[[`))
	f.Add([]byte("\xff{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			var fault *Fault
			if !errors.As(err, &fault) {
				t.Fatalf("error is not a *Fault: %v", err)
			}
			return
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseManifest(again); err != nil {
			t.Fatalf("accepted once, then refused: %v\n%s", err, again)
		}
	})
}
