package plugin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/plugin"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// What call_tool of a hand-made guest does.
const (
	traps   = "traps"
	loops   = "loops" // after one line in the log
	answers = "answers: "
)

// guest assembles a module that lists one tool, bad, and whose call_tool does
// what it says.
func guest(does string) []byte {
	return guestWith(`{"tools":[{"name":"bad","description":"d"}]}`, does)
}

func guestWith(list, does string) []byte {
	m := &wasmtest.Module{}
	alloc := m.Import("extism:host/env", "alloc", wasmtest.Types{wasmtest.I64}, wasmtest.Types{wasmtest.I64})
	write := m.Import("bulkhead:host/mem", "write", wasmtest.Types{wasmtest.I64, wasmtest.I32, wasmtest.I32}, nil)
	warn := m.Import("extism:host/env", "log_warn", wasmtest.Types{wasmtest.I64}, nil)
	output := m.Import("extism:host/env", "output_set", wasmtest.Types{wasmtest.I64, wasmtest.I64}, nil)
	m.Memory(1)
	i32 := wasmtest.Types{wasmtest.I32}
	say := func(at int32, text string) [][]byte {
		n := len(text)
		m.Data(at, []byte(text))
		return [][]byte{
			wasmtest.Const64(int64(n)), wasmtest.Call(alloc), wasmtest.Set(0),
			wasmtest.Get(0), wasmtest.Const32(at), wasmtest.Const32(int32(n)), wasmtest.Call(write),
			wasmtest.Get(0), wasmtest.Const64(int64(n)), wasmtest.Call(output),
			wasmtest.Const32(0),
		}
	}
	m.Func("list_tools", i32, 1, say(0, list)...)
	switch {
	case does == traps:
		m.Func("call_tool", i32, 0, wasmtest.Unreachable)
	case does == loops:
		m.Func("call_tool", i32, 0, wasmtest.Const64(8), wasmtest.Call(alloc), wasmtest.Call(warn), wasmtest.Loop, wasmtest.Again, wasmtest.End, wasmtest.Const32(0))
	default:
		m.Func("call_tool", i32, 1, say(32<<10, strings.TrimPrefix(does, answers))...)
	}
	return m.Bytes()
}

func TestABadPluginFailsItsOwnCallOnly(t *testing.T) {
	const manifest = `{"manifest":1,"name":"bad","version":"1","limits":{"timeout_ms":%d}}`
	cases := []struct {
		name, does string
		kind       tool.FailureKind
		says       string
	}{
		{"trap", traps, tool.FailureTrap, "crashed"},
		{"loop", loops, tool.FailureTimeout, "too long"},
		{"no JSON", answers + "hello", tool.FailureFailed, "invalid JSON"},
		{"half JSON", answers + `{"content":[`, tool.FailureFailed, "invalid JSON"},
		{"not UTF-8", answers + "{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}", tool.FailureFailed, "invalid JSON"},
		{"no content", answers + `{}`, tool.FailureFailed, "invalid JSON"},
		{"content of the wrong type", answers + `{"content":"x"}`, tool.FailureFailed, "invalid JSON"},
		{"nothing", answers, tool.FailureFailed, "invalid JSON"},
		{"documents of the wrong type", answers + `{"content":[{"type":"text","text":"fine"}],"_meta":{"bulkhead/documents":7}}`, "", "fine"},
		{"more than we know", answers + `{"content":[{"type":"text","text":"fine","annotations":{}}],"_meta":{"x":1},"y":2}`, "", "fine"},
	}
	s := open(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			limit := 60_000
			if c.does == loops {
				limit = 2000 // its list of tools must be made within it too
			}
			if err := s.install(t, map[string][]byte{"bad.wasm": packed(t, guest(c.does), fmt.Sprintf(manifest, limit))}); err != nil {
				t.Fatal(err)
			}
			r := s.call(t, "bad", `{}`)
			var kind tool.FailureKind
			if r.Failure != nil {
				if kind = r.Failure.Kind; r.Failure.Message == "" {
					t.Error("there is no sentence for the person")
				}
			}
			if kind != c.kind || !strings.Contains(r.Text, c.says) {
				t.Fatalf("failure %+v, text %q", r.Failure, r.Text)
			}
		})
	}
}

func TestAPluginIsStoppedWhenItsFuelIsSpent(t *testing.T) {
	s := open(t)
	manifest := `{"manifest":1,"name":"bad","version":"1","limits":{"fuel":1000000}}`
	if err := s.install(t, map[string][]byte{"bad.wasm": packed(t, guest(loops), manifest)}); err != nil {
		t.Fatal(err)
	}
	r := s.call(t, "bad", `{}`)
	if r.Failure == nil || r.Failure.Kind != tool.FailureQuota || !strings.Contains(r.Text, "computing budget") {
		t.Fatalf("failure %+v, text %q", r.Failure, r.Text)
	}
	if r.Fuel < 1_000_000 {
		t.Errorf("%d instructions are reported, want the whole budget", r.Fuel)
	}
}

func TestABadFileIsRefusedWithASentence(t *testing.T) {
	good := guest(answers + `{"content":[]}`)
	only := func(name string) []byte {
		m := &wasmtest.Module{}
		m.Func(name, nil, 0)
		return m.Bytes()
	}
	foreign := &wasmtest.Module{}
	foreign.Import("wasi:filesystem", "open", nil, nil)
	cases := []struct {
		name string
		wasm []byte
		kind plugin.Kind
		says string
	}{
		{"empty", nil, plugin.Corrupt, ""},
		{"text", []byte("this is not a module"), plugin.Corrupt, ""},
		{"cut", searchWASM[:len(searchWASM)/2], plugin.Corrupt, ""},
		{"cut in a section", good[:len(good)-3], plugin.Corrupt, ""},
		{"unknown import", foreign.Bytes(), plugin.Unsupported, "wasi:filesystem"},
		{"unknown field in the manifest", packed(t, good, `{"manifest":1,"name":"a","version":"1","tools":{"bad":{"mergo":"q"}}}`), plugin.BadManifest, "tools.bad.mergo"},
		{"manifest that is not JSON", packed(t, good, `{`), plugin.BadManifest, "JSON"},
		{"a command", only("_start"), plugin.BadTools, "wasi-command"},
		{"nothing exported", only("x"), plugin.Unsupported, "list_tools"},
		{"list is no JSON", guestWith("tools", traps), plugin.BadTools, "JSON"},
		{"no tools", guestWith(`{"tools":[]}`, traps), plugin.BadTools, "0 tools"},
		{"one name twice", guestWith(`{"tools":[{"name":"a"},{"name":"a"}]}`, traps), plugin.BadTools, "twice"},
		{"no name", guestWith(`{"tools":[{"description":"a"}]}`, traps), plugin.BadTools, "name"},
		{"schema is no object", guestWith(`{"tools":[{"name":"a","inputSchema":[]}]}`, traps), plugin.BadTools, "inputSchema"},
	}
	s := open(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := s.install(t, map[string][]byte{"bad.wasm": c.wasm, "good.wasm": good})
			wantKind(t, err, c.kind)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want it to say %q", err, c.says)
			}
			list, err := s.manager.List(t.Context(), anOperator)
			if err != nil || len(list) != 1 || list[0].Name != "good" {
				t.Errorf("the good one beside it is not installed: %+v, %v", list, err)
			}
			if c.kind != plugin.BadTools && c.name != "a command" && c.name != "nothing exported" {
				_, err = s.manager.Inspect(t.Context(), c.wasm)
				wantKind(t, err, c.kind)
			}
			_, err = plugin.Run(t.Context(), plugin.Surroundings{Engine: s.engine, Audit: s.log}, plugin.Request{WASM: c.wasm, Tool: "bad", Arguments: json.RawMessage(`{}`)})
			wantKind(t, err, c.kind)
		})
	}
}
