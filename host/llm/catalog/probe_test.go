package catalog

import (
	"testing"
	"unicode/utf8"
)

func FuzzParseList(f *testing.F) {
	f.Add([]byte(`{"object":"list","data":[{"id":"qwen3:8b"},{"id":"nomic-embed-text"}]}`))
	f.Add([]byte(`{"data":[{"id":7}]}`))
	f.Add([]byte(`{"data":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		names, err := parseList(data)
		if err != nil && names != nil {
			t.Error("names beside an error")
		}
		for _, name := range names {
			if !utf8.ValidString(name) || len(name) > maxNameBytes || shownName(name) == "" {
				t.Errorf("name %q", name)
			}
		}
	})
}

func TestKeyKnowsThisMachine(t *testing.T) {
	if key("http://localhost:1/v1", "m") != key("http://127.0.0.1:1/v1", "m") ||
		key("http://localhost:1/v1", "m") == key("http://localhost:2/v1", "m") {
		t.Error("the names of this machine do not count as one")
	}
}
