package salvage

import (
	"slices"
	"testing"
)

func TestNamesOfNativeCallsAreResolved(t *testing.T) {
	names := []string{"search", "open_url", "Open_URL", "mcp__tide-table"}
	for name, want := range map[string]string{
		"search": "search", "functions.search": "search", "default_api:search": "search", "search:0": "search",
		"functions.search:12":   "search",
		"search<|channel|>json": "search", "search<|channel|>commentary": "search", " search()": "search",
		`"search"`: "search", "Search": "search",
		"mcp__tide_table": "mcp__tide-table", "open_url": "open_url", "Open_URL": "Open_URL",
		"OPEN_URL": "", "searches": "", "": "", "<|channel|>": "", "functions.": "", "weather.search.now": "",
	} {
		got, ok := Resolve(names, name)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v; want %q", name, got, ok, want)
		}
	}
}

// FuzzResolve holds that what a name is resolved to is a tool, and a tool's own name
// is itself.
func FuzzResolve(f *testing.F) {
	f.Add("functions.search:0")
	f.Add("<|\"'`:.()")
	f.Fuzz(func(t *testing.T, name string) {
		names := []string{"search", "open_url"}
		got, ok := Resolve(names, name)
		if ok && !slices.Contains(names, got) {
			t.Errorf("%q became %q", name, got)
		}
		if slices.Contains(names, name) && (!ok || got != name) {
			t.Errorf("%q became %q", name, got)
		}
	})
}
