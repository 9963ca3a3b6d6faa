package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// keeper is a host that keeps memories, newest first.
type keeper struct {
	t    *testing.T
	list []pdk.Memory
	n    int
	// fail is answered to memory_apply, "" for none.
	fail string
	// judge answers model_complete; nil where there is no model. asked is the last
	// question.
	judge func() string
	asked string
}

func keep(t *testing.T, texts ...string) *keeper {
	k := &keeper{t: t}
	for _, text := range texts {
		k.apply("add", "", text)
	}
	t.Cleanup(pdk.SetHost(pdk.HostFunc(k.call)))
	return k
}

func (k *keeper) call(function string, in []byte) []byte {
	if function == "model_complete" {
		k.asked = string(in)
		if k.judge == nil {
			return []byte(`{"error":{"kind":"unavailable","message":"The built-in model follows no instructions."}}`)
		}
		return []byte(k.judge())
	}
	var args struct{ Operation, ID, Text string }
	if err := json.Unmarshal(in, &args); err != nil {
		k.t.Error(err)
	}
	var out any
	switch {
	case function == "memory_list":
		out = map[string]any{"memories": k.list}
	case function == "memory_apply" && k.fail != "":
		return []byte(k.fail)
	case function == "memory_apply":
		m, ok := k.apply(args.Operation, args.ID, args.Text)
		if !ok {
			return []byte(`{"error":{"kind":"not_found","message":"There is no such memory."}}`)
		}
		out = map[string]any{"memory": m, "changed": true}
	default:
		k.t.Errorf("asked for %s", function)
	}
	data, err := json.Marshal(map[string]any{"ok": out})
	if err != nil {
		k.t.Error(err)
	}
	return data
}

func (k *keeper) apply(operation, id, text string) (pdk.Memory, bool) {
	if operation == "add" {
		k.n++
		m := pdk.Memory{ID: fmt.Sprint("mem_", k.n), Text: text, UpdatedAt: "2026-03-01T12:00:00Z"}
		k.list = append([]pdk.Memory{m}, k.list...)
		return m, true
	}
	for i, m := range k.list {
		if m.ID != id {
			continue
		}
		if operation == "delete" {
			k.list = append(k.list[:i:i], k.list[i+1:]...)
			return m, true
		}
		k.list[i].Text = text
		return k.list[i], true
	}
	return pdk.Memory{}, false
}

func run(t *testing.T, tool, arguments string) (text string, failed bool) {
	t.Helper()
	data, err := pdk.CallTool(fmt.Appendf(nil, `{"request":{"name":%q,"arguments":%s},"context":{"id":"c","_meta":{}}}`,
		tool, arguments))
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out.Content[0].Text, out.IsError
}

func TestWhatIsCertainIsDecidedAndDoubtAdds(t *testing.T) {
	for _, c := range []struct {
		known, text string
		want        kind
	}{
		{"I drink tea.", "I drink tea", duplicate},
		{"I drink tea.", "The user drinks tea.", duplicate},
		{"My dog is called Rex.", "The user's dog is called Rex", duplicate},
		{"My favourite colour is blue.", "my favorite color is blue!", duplicate},
		{"Ich trinke Tee.", "ich trinke tee", duplicate},
		{"I live in Göttingen.", "I live in Go\u0308t\u00adtingen", duplicate},
		{"My name is Pena.", "My name is Peña.", changed},
		{"私は東京に住んでいます。", "私は東京に住んでいます", duplicate},

		{"My favourite colour is blue.", "My favourite colour is green.", changed},
		{"My name is Ada.", "The user's name is Ada Lovelace.", changed},
		{"I live in Berlin.", "I live in Hamburg.", changed},
		{"My dog is called Rex.", "My dog is called Rex and he is four years old.", changed},

		{"I drink tea.", "I don't drink tea.", fresh},
		{"I do not drink tea.", "I do drink tea.", fresh},
		{"Anna likes Bob.", "Bob likes Anna.", fresh},
		{"My dog is brown.", "My dog is old.", fresh},
		{"My dog's name is Rex.", "My dog's name is Max.", fresh},
		{"My sister's name is Eva.", "My name is Eva.", fresh},
		{"I live in Berlin.", "I live in Berlin or Hamburg.", changed}, // it says all that the memory says
		{"I live in Berlin.", "I live in Hamburg when it is summer.", fresh},
		{"I like C.", "I like C++.", fresh},
		{"I like C.", "I like C#.", fresh},
		{"I work in Berlin.", "I worked in Berlin.", fresh},
		{"Version 1.2 is mine", "Version 1.3 is mine", fresh},
		{"My favourite tea is Assam.", "My favourite colour is Assam.", fresh},
		{"My favourite tea is Assam.", "My favourite tea is not Assam.", fresh},
		{"I like tea.", "My sister said I like tea.", fresh},
	} {
		if got := bySimilarity(c.text, []pdk.Memory{{ID: "m", Text: c.known}}); got.kind != c.want {
			t.Errorf("%q after %q: got %d, want %d", c.text, c.known, got.kind, c.want)
		}
	}
}

func TestAddRemembersReplacesAndRepeatsNothing(t *testing.T) {
	k := keep(t)
	for _, step := range []struct {
		text, says string
		count      int
	}{
		{"My  favourite tea is Assam.", "Remembered: My favourite tea is Assam. (id mem_1).", 1},
		{"The user's favourite tea is Assam", "remembered already", 1},
		{"My favourite tea is Darjeeling.", "It replaces: My favourite tea is Assam.", 1},
		{"My favourite coffee is none.", "Alike, and kept:", 2},
	} {
		text, failed := run(t, "add_memory", fmt.Sprintf(`{"text":%q}`, step.text))
		if failed || !strings.Contains(text, step.says) || len(k.list) != step.count {
			t.Errorf("%q: %q, %d kept", step.text, text, len(k.list))
		}
	}
}

func TestMemoriesAreListedChangedAndForgotten(t *testing.T) {
	k := keep(t, "I drink\ntea.", "My dog is Rex.")
	if text, failed := run(t, "list_memories", `{}`); failed ||
		!strings.Contains(text, "(2):\n- My dog is Rex. (id mem_2, 2026-03-01)\n- I drink tea. (id mem_1") {
		t.Errorf("list: %q", text)
	}
	if text, failed := run(t, "update_memory", `{"id":"mem_1","text":"I drink coffee."}`); failed ||
		text != "Changed: I drink coffee. (id mem_1)." {
		t.Errorf("update: %q", text)
	}
	if text, failed := run(t, "delete_memory", `{"id":"mem_2"}`); failed || text != "Forgotten: My dog is Rex." ||
		len(k.list) != 1 {
		t.Errorf("delete: %q", text)
	}
	k.list = nil
	if text, _ := run(t, "list_memories", `{}`); text != "Nothing is remembered about the person." {
		t.Errorf("empty: %q", text)
	}
}

func TestMistakesAreSaidWithAnExample(t *testing.T) {
	k := keep(t)
	k.fail = `{"error":{"kind":"quota","message":"There are 1000 memories already."}}`
	for _, c := range []struct{ tool, arguments, says string }{
		{"add_memory", `{"text":" "}`, "Example"},
		{"add_memory", `{"memory":"x"}`, `"memory"`},
		{"add_memory", `{"text":"x"}`, "1000 memories already"},
		{"update_memory", `{"id":"","text":"x"}`, "Example"},
		{"delete_memory", `{"id":""}`, "list_memories has the ids"},
	} {
		if text, failed := run(t, c.tool, c.arguments); !failed || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %v %q", c.tool, c.arguments, failed, text)
		}
	}
	k.fail = ""
	if text, failed := run(t, "delete_memory", `{"id":"mem_9"}`); !failed || !strings.Contains(text, "list_memories") {
		t.Errorf("unknown: %q", text)
	}
	t.Cleanup(pdk.SetHost(pdk.HostFunc(func(string, []byte) []byte {
		return []byte(`{"error":{"kind":"denied","message":"This conversation is private."}}`)
	})))
	if text, failed := run(t, "add_memory", `{"text":"x"}`); !failed ||
		!strings.Contains(text, "This conversation is private. Do not try again.") {
		t.Errorf("denied: %q", text)
	}
}
