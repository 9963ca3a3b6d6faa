package line_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/bulkhead-host/bulkhead/host/text/line"
)

func TestALineHoldsWhatIsSeen(t *testing.T) {
	for in, want := range map[string]string{
		"  How\tdeep \n is it? ":      "How deep is it?",
		"a\u0000b\u001b[31mc":         "ab[31mc",
		"abc\u202Egnp.exe":            "abcgnp.exe",
		"\u2066x\u2069 \u200Ey\u061C": "x y",
		"so\u00ADft\u200B and\uFEFF":  "soft and",
		"\u200B\u2060\u200D":          "",
		"\u3164\u2800":                "",
		"👩\u200D👩\u200D👧 family":      "👩\u200D👩\u200D👧 family",
		"می\u200Cخواهم":               "می\u200Cخواهم",
		"❤\uFE0F":                     "❤\uFE0F",
		"a\u2028b":                    "a b",
		"x\xffy":                      "x\uFFFDy",
		"":                            "",
	} {
		if got := line.Clean(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestACutIsBetweenCharacters(t *testing.T) {
	for _, c := range []struct {
		in   string
		most int
		want string
	}{
		{"short", 10, "short"},
		{"one two three four", 12, "one two…"},
		{strings.Repeat("x", 20), 10, "xxxxxxxxx…"},
		{strings.Repeat("👩\u200D👧", 6), 4, strings.Repeat("👩\u200D👧", 3) + "…"},
		{strings.Repeat("e\u0301", 6), 3, "e\u0301e\u0301…"},
		{strings.Repeat("🇳🇴", 6), 3, "🇳🇴🇳🇴…"},
	} {
		if got := line.Cut(c.in, c.most); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.in, c.most, got, c.want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\u202Eb 👩\u200D👧 e\u0301", uint8(3))
	f.Fuzz(func(t *testing.T, in string, n uint8) {
		most := int(n) + 2
		out := line.Cut(line.Clean(in), most)
		if !utf8.ValidString(out) || strings.ContainsFunc(out, unicode.IsControl) || out != strings.TrimSpace(out) ||
			uniseg.GraphemeClusterCount(out) > most {
			t.Errorf("%q became %q", in, out)
		}
		if again := line.Clean(line.Clean(in)); again != line.Clean(in) {
			t.Errorf("%q became %q and that %q", in, line.Clean(in), again)
		}
	})
}
