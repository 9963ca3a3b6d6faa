package hostfunc_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/audit/audittest"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// everything asks for all that can be asked for.
const everything = `{"manifest":1,"name":"all","version":"1","capabilities":{
	"http":{"allow":[{"host":"*"}]},"kv":{"quota_bytes":64},"knowledge":{},"memory":{},"files":{},"model":{},"emit":{},
	"image":{},"tools":{},"mcp":{},"secrets":{},"elicit":{},"workspace":{}}}`

// granted are grants that a test changes.
type granted capability.Grants

func (g granted) Grants(context.Context, string) (capability.Grants, error) {
	return capability.Grants(g), nil
}

func (g granted) Grant(_ context.Context, _, name string) (capability.Grant, bool, error) {
	one, found := g[name]
	return one, found, nil
}

// open returns a tool call of a plugin that was granted all, and what was granted.
func open(t testing.TB, s hostfunc.Services, a hostfunc.Attachment) (*gate.Call, granted) {
	t.Helper()
	m, err := capability.ParseManifest([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	held := granted(capability.GrantAll(m))
	g, err := gate.New(gate.Config{
		Functions: hostfunc.New(s).Functions(), Grants: held, Now: time.Now,
		Audit: audit.New(&audittest.Space{}, time.Now),
	})
	if err != nil {
		t.Fatal(err)
	}
	return g.Open(gate.CallInfo{Plugin: "all", User: "u1", Manifest: m}, a), held
}

// ask makes a host call and returns its answer.
func ask(t testing.TB, c *gate.Call, name, args string) string {
	t.Helper()
	return string(c.Host(name)(t.Context(), []byte(args)))
}

// ofGuest are the functions that host/guest serves by others of its own protocol.
var ofGuest = []string{"create_message"}

func TestTheCatalogueMarksWhatIsNotServed(t *testing.T) {
	var served []string
	for _, f := range hostfunc.New(hostfunc.Services{Storage: &audittest.Space{}}).Functions() {
		served = append(served, f.Name)
	}
	for _, c := range capability.Catalogue() {
		for _, f := range c.Functions {
			is := slices.Contains(served, f) || slices.Contains(ofGuest, f)
			if marked := slices.Contains(c.Unserved, f); is == marked {
				t.Errorf("%s of %s: served %v, marked as not served %v", f, c.Name, is, marked)
			}
		}
		for _, f := range c.Unserved {
			if !slices.Contains(c.Functions, f) {
				t.Errorf("%s is no function of %s", f, c.Name)
			}
		}
	}
}

func TestWhatThisHostLacksIsUnavailableInASentence(t *testing.T) {
	c, _ := open(t, hostfunc.Services{}, hostfunc.Attachment{})
	for name, args := range map[string]string{
		"http_fetch": `{"url":"http://example.org/"}`, "kv_get": `{"key":"a"}`, "knowledge_search": `{"query":"a"}`,
		"memory_list": `{}`, "file_list": `{}`, "model_complete": `{"messages":[{"role":"user","text":"a"}]}`,
		"emit": `{}`, "image_generate": `{}`, "tool_call": `{}`, "mcp_list": `{}`, "file_write": `{}`,
	} {
		if got := ask(t, c, name, args); !strings.HasPrefix(got, `{"error":{"kind":"unavailable","message":"`) {
			t.Errorf("%s answers %s", name, got)
		}
	}
}

func TestValuesAreKeptWithTheirLabelsAndForgotten(t *testing.T) {
	space := &audittest.Space{}
	services := hostfunc.Services{Storage: space}
	stored := []string{capability.LabelUntrustedContent, capability.LabelEgress}
	c, held := open(t, services, hostfunc.Attachment{Carries: func() ([]string, error) { return stored, nil }})
	if got := ask(t, c, "kv_put", `{"key":"a","value":"1"}`); !strings.HasPrefix(got, `{"ok"`) {
		t.Fatal(got)
	}
	if got := ask(t, c, "kv_put", `{"key":"b","value":"`+strings.Repeat("x", 64)+`"}`); !strings.Contains(got,
		`"quota"`) {
		t.Errorf("beyond the quota: %s", got)
	}
	if got := ask(t, c, "kv_put", `{"key":"","value":"1"}`); !strings.Contains(got, `"invalid"`) {
		t.Errorf("an empty key: %s", got)
	}
	rights := capability.Effective(c.Manifest, capability.Grants(held), nil)
	h := hostfunc.New(services)
	labels, err := h.Brought(t.Context(), "all", "u1", rights)
	if err != nil || !slices.Equal(labels, []string{capability.LabelUntrustedContent}) {
		t.Errorf("brought are %q, %v", labels, err)
	}
	if labels, err = h.Brought(t.Context(), "all", "u2", rights); err != nil || len(labels) > 0 {
		t.Errorf("another user is brought %q, %v", labels, err)
	}
	held[capability.KV] = capability.Grant{Capability: capability.KV, Mode: capability.Deny}
	if got := ask(t, c, "kv_get", `{"key":"a"}`); !strings.Contains(got, `"denied"`) {
		t.Errorf("after the grant was taken back: %s", got)
	}
	delete(held, capability.KV)
	if err := h.Forget(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, c, "kv_get", `{"key":"a"}`); !strings.Contains(got, `"found":false`) {
		t.Errorf("after all was forgotten: %s", got)
	}
	if labels, err = h.Brought(t.Context(), "all", "u1", rights); err != nil || len(labels) > 0 {
		t.Errorf("after all was forgotten: labels %q, %v", labels, err)
	}
}

// FuzzArguments hands foreign bytes to every function: each answers with a block, and with
// an error where the bytes are no object.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"key":"a","value":"b"}`, `{"prefix":""}`, `{"url":"http://[::1]:80/?q=1","method":"PUT","body":"x"}`,
		`{"query":"a","limit":-1}`, `{"messages":[{"role":"x","text":""}],"max_tokens":-1}`,
		`{"file_id":"f","offset":-5}`,
		`{"documents":[{"id":"d","url":"javascript:x"}],"progress":{"message":"m","fraction":2}}`, `[]`, `{"a":`,
		"\xff",
		`{"operation":"add","text":"t"}`, `{"requests":[{"url":"a"},7]}`,
	} {
		f.Add([]byte(seed))
	}
	functions := hostfunc.New(hostfunc.Services{Storage: &audittest.Space{}}).Functions()
	f.Fuzz(func(t *testing.T, args []byte) {
		c, _ := open(t, hostfunc.Services{Storage: &audittest.Space{}}, hostfunc.Attachment{})
		for _, function := range functions {
			var answer struct {
				OK    json.RawMessage
				Error *struct{ Kind, Message string }
			}
			out := c.Host(function.Name)(t.Context(), args)
			if err := json.Unmarshal(out, &answer); err != nil {
				t.Fatalf("%s answers %q: %v", function.Name, out, err)
			}
			var object map[string]json.RawMessage
			if json.Unmarshal(args, &object) != nil && answer.Error == nil {
				t.Fatalf("%s took %q", function.Name, args)
			}
			if answer.Error != nil && strings.Contains(answer.Error.Message, "could not serve") {
				t.Fatalf("%s failed on %q: %s", function.Name, args, out)
			}
		}
	})
}
