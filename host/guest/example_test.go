package guest

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestExampleArgumentsFitTheSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`: `{}`,
		`{"properties":{"a":{"type":"string"},"b":{"type":"integer","minimum":3},"c":{"type":["null","boolean"]},"d":{"type":"null"}}}`:                                  `{"a":"a","b":3,"c":false,"d":null}`,
		`{"properties":{"a":{"enum":["x","y"]},"b":{"const":7},"c":{"default":[1]},"d":{"type":"string","examples":["e"]}}}`:                                             `{"a":"x","b":7,"c":[1],"d":"e"}`,
		`{"properties":{"a":{"type":"array","items":{"type":"number","exclusiveMinimum":1}},"b":{"type":"array","minItems":2,"items":{"type":"string","minLength":3}}}}`: `{"a":[2],"b":["aaa","aaa"]}`,
		`{"properties":{"a":{"properties":{"b":true}}}}`: `{"a":{"b":"a"}}`,
		`{"const":3}`: `{}`, `[]`: `{}`, `not json`: `{}`,
	} {
		if got := string(ExampleArguments(json.RawMessage(schema))); got != want {
			t.Errorf("%s gives %s, want %s", schema, got, want)
		}
	}
}

// FuzzExampleArguments asserts that any schema gives an object of bounded size.
func FuzzExampleArguments(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"array","minItems":1000000000,"items":{"type":"array","minItems":99,"items":{}}}}}`))
	f.Add([]byte(`{"properties":{"a":{"type":"string","minLength":-1},"b":{"minimum":1e308,"type":"number"},"c":{"type":"array","minItems":-5}}}`))
	f.Add([]byte(strings.Repeat(`{"properties":{"a":`, 100) + `{}` + strings.Repeat(`}}`, 100)))
	f.Add([]byte(`{"default":{"a":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		out := ExampleArguments(data)
		var object map[string]json.RawMessage
		if err := json.Unmarshal(out, &object); err != nil || object == nil {
			t.Fatalf("%s: %v", out, err)
		}
		if most := (exampleNodes + 1) * (exampleLength + 6*len(data) + 10); len(out) > most {
			t.Fatalf("%d bytes of a schema of %d", len(out), len(data))
		}
	})
}
