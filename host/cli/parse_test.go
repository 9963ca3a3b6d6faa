package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseWritesWhatTheTextHolds(t *testing.T) {
	tools := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(tools, []byte(`[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, in, want string
		how            Parsing
	}{
		{"single", "Hi <b>.\n<tool_call>f\n<arg_key>n</arg_key><arg_value>7</arg_value></tool_call>",
			`{"content":"Hi <b>.","reasoning":"","calls":[{"name":"f","arguments":{"n":7}}]}`,
			Parsing{ToolsFile: tools, Chunk: 3}},
		{"single with open reasoning", "hm</think>yes", `{"content":"yes","reasoning":"hm","calls":[]}`,
			Parsing{ReasoningOpen: true}},
		{"required", `{"n":1}`, `{"content":"","reasoning":"","calls":[{"name":"f","arguments":{"n":1}}]}`,
			Parsing{ToolsFile: tools, ToolChoice: "required"}},
		{"lines", `{"id":1,"text":"a"}` + "\n\n" +
			`{"id":"x","text":"hm</think>[f(n=1)]","reasoning_open":true,"chunks":[2,5]}` + "\n" +
			`{"text":"","chunks":["<tool_","call>f</tool_call>"],"tools":[]}`,
			`{"id":1,"content":"a","reasoning":"","calls":[]}` + "\n" +
				`{"id":"x","content":"","reasoning":"hm","calls":[{"name":"f","arguments":{"n":1}}]}` + "\n" +
				`{"content":"","reasoning":"","calls":[{"name":"f","arguments":{}}]}`, Parsing{NDJSON: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Parse(Options{Out: &out}, strings.NewReader(c.in), c.how); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(out.String()); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestParseNamesTheLineThatItCannotRead(t *testing.T) {
	var out bytes.Buffer
	err := Parse(Options{Out: &out}, strings.NewReader("{\"id\":1,\"text\":\"a\"}\n{\"text\":\"b\",\"tool_choice\":\"maybe\"}\n"), Parsing{NDJSON: true})
	if err == nil || !strings.Contains(err.Error(), "line 2") || !strings.Contains(out.String(), `"id":1`) {
		t.Errorf("got %v and %q", err, out.String())
	}
}
