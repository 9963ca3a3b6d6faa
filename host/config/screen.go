package config

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// ScreenAction is what a rule does with a message that it finds something in.
type ScreenAction string

// The actions of rules.
const (
	// ScreenRefuse: the message is not taken, and nothing of it is stored.
	ScreenRefuse ScreenAction = "refuse"
	// ScreenReplace: each place that was found is replaced before it is stored.
	ScreenReplace ScreenAction = "replace"
)

// ScreenRule is one rule that what a person writes is held to before it is stored
// and before a model sees it. Rules apply in their order, each to what the one
// before left. They see the text of a message; they do not see files that it
// carries, documents, memories, or what models and tools say.
type ScreenRule struct {
	// Name is what notices and the log call the rule, unique; required.
	Name string `yaml:"name"`
	// Pattern is what is looked for, in the syntax of RE2; required. It must not
	// match an empty text.
	Pattern string `yaml:"pattern"`
	// Action is refuse or replace; required.
	Action ScreenAction `yaml:"action"`
	// Replacement stands in place of each match with replace, "" to take it out. $1
	// or ${name} are groups of the pattern, $$ is a dollar.
	Replacement string `yaml:"replacement"`
	// Message is what the person is told. Default a sentence with the rule's name.
	Message string `yaml:"message"`
}

// Limits of the rules.
const (
	maxScreenRules        = 100
	maxScreenNameBytes    = 80
	maxScreenPatternBytes = 2000
	// maxScreenTextBytes bounds a replacement, and a message.
	maxScreenTextBytes = 500
)

// screen checks the rules.
func (k *checker) screen(rules []ScreenRule) {
	if len(rules) > maxScreenRules {
		k.add("screen", "screen has %d rules; at most %d are taken", len(rules), maxScreenRules)
	}
	names := map[string]bool{}
	for i, r := range rules {
		path := fmt.Sprintf("screen[%d]", i)
		switch {
		case strings.TrimSpace(r.Name) == "":
			k.add(path+".name", "%s needs a name, which notices call it by", path)
		case len(r.Name) > maxScreenNameBytes || strings.ContainsFunc(r.Name,
			func(c rune) bool { return !unicode.IsPrint(c) }):
			k.add(path+".name", "%s.name may have %d bytes, and only what can be shown", path, maxScreenNameBytes)
		case names[r.Name]:
			k.add(path+".name", "the name %q is used by more than one rule", r.Name)
		}
		names[r.Name] = true
		k.oneOf(path+".action", string(r.Action), string(ScreenRefuse), string(ScreenReplace))
		k.screenTexts(path, r)
	}
}

// screenTexts checks what a rule looks for and what it says.
func (k *checker) screenTexts(path string, r ScreenRule) {
	if r.Replacement != "" && r.Action == ScreenRefuse {
		k.add(path+".replacement", "%s.replacement is for the action replace only", path)
	}
	for _, text := range []struct{ field, value string }{{"replacement", r.Replacement}, {"message", r.Message}} {
		if len(text.value) > maxScreenTextBytes {
			k.add(path+"."+text.field, "%s.%s may have %d bytes", path, text.field, maxScreenTextBytes)
		}
	}
	at := path + ".pattern"
	if r.Pattern == "" {
		k.add(at, "%s needs a pattern, what is looked for", path)
		return
	}
	if len(r.Pattern) > maxScreenPatternBytes {
		k.add(at, "%s may have %d bytes", at, maxScreenPatternBytes)
		return
	}
	pattern, err := regexp.Compile(r.Pattern)
	switch {
	case err != nil:
		k.add(at, "%s cannot be read: %s", at, patternMistake(err))
	case pattern.MatchString(""):
		k.add(at, "%s matches an empty text, so it would match everywhere", at)
	case r.Action == ScreenReplace:
		if name := missingGroup(pattern, r.Replacement); name != "" {
			k.add(path+".replacement", "%s.replacement has $%s, a group that the pattern does not have; write $$ for "+
				"a dollar", path, name)
		}
	}
}

// patternMistake says what is wrong with a pattern, without its text.
func patternMistake(err error) string {
	mistake, ok := err.(*syntax.Error)
	switch {
	case !ok:
		return "it is not a regular expression"
	case mistake.Code == syntax.ErrInvalidPerlOp:
		return "it has a group that RE2 does not know, such as a look-ahead"
	case mistake.Code == syntax.ErrInvalidEscape:
		return "it has an escape that RE2 does not know, such as a back reference"
	}
	return mistake.Code.String()
}

// groupReference is a $ in a replacement with what it names, as regexp.Expand reads it.
var groupReference = regexp.MustCompile(`\$(\$|\w+|\{\w+\})`)

// missingGroup returns the first group that a replacement names and the pattern
// does not have, "" for none.
func missingGroup(pattern *regexp.Regexp, replacement string) string {
	for _, found := range groupReference.FindAllStringSubmatch(replacement, -1) {
		name := strings.Trim(found[1], "{}")
		if name == "$" {
			continue
		}
		if n, err := strconv.Atoi(name); err == nil && n <= pattern.NumSubexp() {
			continue
		}
		if !slices.Contains(pattern.SubexpNames(), name) {
			return name
		}
	}
	return ""
}
