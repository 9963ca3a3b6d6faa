package extractive

import (
	"regexp"
	"slices"
	"strings"
)

// toolReadFile reads a file that is attached.
const toolReadFile = "read_file"

// firstPerson are the words by which a question is about who asks.
var firstPerson = set(`i i'm i've me my mine myself ich mich mir mein meine meinen meiner meinem je j'ai moi mon ma mes yo mi mis me`)

// memoryQuestion recognises being asked for all that is remembered.
var memoryQuestion = regexp.MustCompile(`(?i)\b(?:what|which|list|show)\b.*\b(?:remember|know|memories)\b.*\b(?:me|i|memories)\b|\b(?:list|show)\b.*\bmemories\b|\bwas\b.*\b(?:weißt|merkst|gemerkt)\b.*\b(?:mich|mir)\b`)

// asksForMemories tells whether the question is what is remembered at all.
func (e *exchange) asksForMemories() bool {
	return len(wordsOf(e.question)) <= 12 && memoryQuestion.MatchString(e.question)
}

// memories lists all that is remembered.
func (e *exchange) memories() string {
	if len(e.remembered) == 0 {
		return "Nothing is remembered about you in this conversation. Say “remember that …” to change that."
	}
	return "I remember:\n\n- " + strings.Join(e.remembered, "\n- ")
}

// surePair is how alike two words are that count as the same.
const surePair = 0.8

// recall returns the memory that has every word of the question's subject, the
// newest of several, and whether the question is about the person. "" for none.
func (e *exchange) recall() (memory string, personal bool) {
	personal = slices.ContainsFunc(wordsOf(e.question), func(w string) bool { return firstPerson[fold(w)] })
	var asked []string
	for _, term := range questionTerms(e.question) {
		if !filler[term] && !firstPerson[term] {
			asked = append(asked, term)
		}
	}
	// One word alone says too little where the question is about nobody.
	if len(asked) == 0 || len(asked) == 1 && !personal {
		return "", personal
	}
	for _, m := range e.remembered {
		known := terms(m)
		all := !slices.ContainsFunc(asked, func(a string) bool {
			return !slices.ContainsFunc(known, func(k string) bool { return alike(a, k) >= surePair })
		})
		if all {
			return m, personal
		}
	}
	return "", personal
}

// recalls tells whether a memory alone answers.
func (e *exchange) recalls() bool {
	memory, personal := e.recall()
	return memory != "" && personal
}

// confirmations are how the tool that remembers says what it did.
var confirmations = []struct{ tool, own string }{
	{"Remembered: ", "I will remember: "},
	{"This is remembered already: ", "I remember that already: "},
}

// confirmed says what was remembered, "" where nothing was.
func (e *exchange) confirmed() string {
	for _, r := range e.results {
		if !slices.Contains(memoryTools, r.ToolName) {
			continue
		}
		for _, c := range confirmations {
			if text, ok := strings.CutPrefix(r.Text, c.tool); ok {
				text, _, _ = strings.Cut(text, " (id ")
				return c.own + text
			}
		}
	}
	return ""
}
