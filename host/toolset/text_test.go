package toolset

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

func TestASchemaGivesUpWhatExplainsFirst(t *testing.T) {
	whole := `{"type": "object", "properties": {"title": {"type": "string", "title": "T", "description": "` +
		strings.Repeat("long ", 100) + `"},
		"kind": {"enum": ["a", {"description": "stays"}]}}, "required": ["title"]}`
	for _, tc := range []struct {
		most int
		want string
	}{
		{len(whole), whole},
		{len(whole) - 1, strings.NewReplacer(": ", ":", ", ", ",", "\n\t\t", "").Replace(whole)},
		{300, `{"properties":{"kind":{"enum":["a",{"description":"stays"}]},"title":{"type":"string"}},` +
			`"required":["title"],"type":"object"}`},
		{100, `{"type":"object","properties":{"title":{"type":"string"},"kind":{}},"required":["title"]}`},
		{88, `{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`},
		{20, anything},
	} {
		if got := string(Schema(json.RawMessage(whole), tc.most)); got != tc.want {
			t.Errorf("in %d bytes:\n got %s\nwant %s", tc.most, got, tc.want)
		}
	}
	if got := string(Schema(json.RawMessage(`{"no`+strings.Repeat(" ", 50)), 20)); got != anything {
		t.Errorf("what is no JSON becomes %s", got)
	}
}

func TestAToolThatIsTooLongSaysThatItIsShortened(t *testing.T) {
	small := tool.Spec{Name: "s", Description: "Says.", InputSchema: json.RawMessage(anything)}
	if got := Short(small, MaxText); got.Description != small.Description || string(got.InputSchema) != anything {
		t.Errorf("a small tool becomes %+v", got)
	}
	large := tool.Spec{Name: "l", Description: strings.Repeat("word ", 4000), InputSchema: json.RawMessage(anything)}
	if got := Short(large, MaxText); len(got.Description) > MaxText || !strings.HasSuffix(got.Description, cut) {
		t.Errorf("the description has %d bytes", len(got.Description))
	}
	enum := `{"type":"object","properties":{"x":{"type":"string","enum":["` +
		strings.Repeat("e", 20_000) + `"]}},"required":["x"]}`
	got := Short(tool.Spec{Name: "e", Description: "Takes one of many.", InputSchema: json.RawMessage(enum)}, MaxText)
	want := `{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`
	if !strings.HasPrefix(got.Description, "Takes one of many. (") || string(got.InputSchema) != want {
		t.Errorf("got %+v", got)
	}
}

// TestWhatIsShortenedFitsAndIsASchema: whatever a tool lists.
func TestWhatIsShortenedFitsAndIsASchema(t *testing.T) {
	types := rapid.SampledFrom([]any{"string", []string{"integer", "null"}, strings.Repeat("t", 200)})
	rapid.Check(t, func(t *rapid.T) {
		properties, required := map[string]any{}, []string{}
		for i := range rapid.IntRange(0, 40).Draw(t, "arguments") {
			name := fmt.Sprintf("%s%d", rapid.StringN(0, 10, 30).Draw(t, "name"), i)
			properties[name] = map[string]any{
				"type":        types.Draw(t, "type"),
				"enum":        rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "enum"),
				"description": rapid.String().Draw(t, "description"),
			}
			if rapid.Bool().Draw(t, "required") {
				required = append(required, name)
			}
		}
		schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
		if err != nil {
			t.Fatal(err)
		}
		most := rapid.IntRange(200, 4000).Draw(t, "most")
		s := tool.Spec{Name: "x", Description: rapid.StringN(0, 2000, 6000).Draw(t, "of the tool"), InputSchema: schema}
		got := Short(s, most)
		if n := len(got.Description) + len(got.InputSchema); n > most {
			t.Fatalf("%d bytes of %d", n, most)
		}
		var back struct {
			Type       string
			Properties map[string]any
			Required   []string
		}
		err = json.Unmarshal(got.InputSchema, &back)
		if err != nil || back.Type != "object" || !utf8.ValidString(got.Description) {
			t.Fatalf("%v in %s and %q", err, got.InputSchema, got.Description)
		}
		for _, name := range back.Required {
			if back.Properties[name] == nil {
				t.Fatalf("%q is required and not there: %s", name, got.InputSchema)
			}
		}
	})
}
