package llm_test

import (
	"regexp"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// taken is how OpenAI and Anthropic write down the names that they take.
var taken = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// FuzzCallName holds that every name becomes one that is taken, and that one which is
// taken stays as it is.
func FuzzCallName(f *testing.F) {
	for _, name := range []string{"", "search", "web search!", "größe", "\xff\x00", "mcp__server-1__tool",
		string(make([]byte, 500))} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := llm.CallName(name)
		if !taken.MatchString(got) {
			t.Errorf("%q became %q", name, got)
		}
		if taken.MatchString(name) && got != name {
			t.Errorf("%q was taken and became %q", name, got)
		}
	})
}
