package guest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// FuzzCommandLine makes command lines of whatever a model and a manifest may say: no entry
// has a zero byte, the program's name stays the first, and nothing panics.
func FuzzCommandLine(f *testing.F) {
	f.Add(`{"a":"x","list":[1,"two"],"text":"in"}`, "--a={a}", "{list}",
		`{"type":"object","properties":{"a":{},"list":{}}}`)
	f.Add(`{"a":null}`, "{a}{a}", "{b}", ``)
	f.Add(`{"a":{"b":[1]}}`, "{", "{{a}}", `{"type":"object"}`)
	f.Fuzz(func(t *testing.T, args, first, second, schema string) {
		e := capability.WASIEntry{Argv: []string{"program", first, second}, Stdin: "text"}
		if schema != "" {
			e.InputSchema = json.RawMessage(schema)
		}
		argv, stdin, err := commandLine(e, json.RawMessage(args))
		if err != nil {
			if argv != nil || stdin != nil {
				t.Fatalf("%q and %q beside %v", argv, stdin, err)
			}
			return
		}
		if len(argv) == 0 || argv[0] != "program" {
			t.Fatalf("argv %q", argv)
		}
		for _, arg := range argv {
			if strings.ContainsRune(arg, 0) {
				t.Fatalf("argv %q", argv)
			}
		}
	})
}

// FuzzSampling reads what a plugin asks a model as hyper-mcp's plugins do.
func FuzzSampling(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"systemPrompt":"s","maxTokens":5}`))
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"}]}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		args, err := completion(in)
		if err != nil && len(args.Messages) > 0 {
			t.Fatalf("%v beside %v", args, err)
		}
		if err == nil && !json.Valid(in) {
			t.Fatalf("%q was read", in)
		}
	})
}
