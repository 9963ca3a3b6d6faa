package config_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/config"
)

func TestRulesForMessagesAreRead(t *testing.T) {
	c, err := config.Parse("f", []byte(`
screen:
  - name: cards
    pattern: '(\d{12})(?P<end>\d{4})'
    action: replace
    replacement: 'card $$ ${end} $2'
    message: Card numbers are taken out.
  - {name: keys, pattern: PRIVATE KEY, action: refuse}
`), resolver)
	if err != nil {
		t.Fatal(err)
	}
	want := config.ScreenRule{Name: "cards", Pattern: `(\d{12})(?P<end>\d{4})`, Action: config.ScreenReplace,
		Replacement: "card $$ ${end} $2", Message: "Card numbers are taken out."}
	if len(c.Screen) != 2 || c.Screen[0] != want || c.Screen[1].Action != config.ScreenRefuse {
		t.Errorf("%+v", c.Screen)
	}
}

func TestEachMistakeOfARuleHasALineAndASentence(t *testing.T) {
	const text = "very-private-words"
	rule := func(fields string) string { return "screen:\n  - {name: a, " + fields + "}\n" }
	cases := []struct{ name, file, want string }{
		{"no list", "screen: yes\n", `f, line 1: this must be a list of rules, each beginning with "- name:"`},
		{"no rule", "screen: [" + text + "]\n", `f, line 1: this must be settings of the form "name: value"`},
		{"unknown setting", "screen:\n  - name: a\n    regex: x\n",
			"f, line 3: there is no setting regex here; the settings are name, pattern, action, replacement, message"},
		{"no name", "screen:\n  - {pattern: x, action: refuse}\n", "f, line 2: screen[0] needs a name"},
		{"a name that cannot be shown", "screen:\n  - {name: \"a\\u0007\", pattern: x, action: refuse}\n",
			"f, line 2: screen[0].name may have 80 bytes"},
		{"one name twice", rule("pattern: x, action: refuse") + "  - {name: a, pattern: y, action: refuse}\n",
			`f, line 3: the name "a" is used by more than one rule`},
		{"no pattern", rule("action: refuse"), "f, line 2: screen[0] needs a pattern"},
		{"a bad pattern", rule("pattern: '(" + text + "', action: refuse"),
			"f, line 2: screen[0].pattern cannot be read: missing closing )"},
		{"a look-ahead", rule("pattern: '(?!" + text + ")', action: refuse"),
			"a group that RE2 does not know, such as a look-ahead"},
		{"a back reference", rule("pattern: '(x)\\1', action: refuse"),
			"an escape that RE2 does not know, such as a back reference"},
		{"a pattern that matches nothing", rule("pattern: 'x*', action: refuse"),
			"f, line 2: screen[0].pattern matches an empty text"},
		{"a long pattern", rule("pattern: " + strings.Repeat("x", 2001) + ", action: refuse"),
			"screen[0].pattern may have 2000 bytes"},
		{"no action", rule("pattern: x"), "f, line 2: screen[0].action must be one of refuse, replace"},
		{"unknown action", rule("pattern: x, action: warn"), "screen[0].action must be one of refuse, replace"},
		{"a replacement of a refusal", rule("pattern: x, action: refuse, replacement: y"),
			"screen[0].replacement is for the action replace only"},
		{"a group that is not there", rule("pattern: '(x)', action: replace, replacement: '$1 $2'"),
			"screen[0].replacement has $2, a group that the pattern does not have; write $$ for a dollar"},
		{"a name that is not there", rule("pattern: '(x)', action: replace, replacement: '$1st'"),
			"screen[0].replacement has $1st, a group that"},
		{"a long replacement", rule("pattern: x, action: replace, replacement: " + strings.Repeat("x", 501)),
			"screen[0].replacement may have 500 bytes"},
		{"a long message", rule("pattern: x, action: refuse, message: " + strings.Repeat("x", 501)),
			"screen[0].message may have 500 bytes"},
		{"too many", "screen:\n" + strings.Repeat("  - {name: a, pattern: x, action: refuse}\n", 101),
			"screen has 101 rules; at most 100 are taken"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := config.Parse("f", []byte(c.file), resolver)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got  %v\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), text) {
				t.Errorf("a value stands in %q", err)
			}
		})
	}
}
