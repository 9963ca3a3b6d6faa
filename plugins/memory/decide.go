package main

import (
	"slices"
	"strings"
	"unicode"

	"github.com/bulkhead-host/bulkhead/host/text/fold"
	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// kind is what a new text is to what is known.
type kind int

const (
	// fresh: it is new, or nobody can tell.
	fresh kind = iota
	// duplicate: it says what a memory says already.
	duplicate
	// changed: it says of the same thing something else, or all that a memory
	// says and more; it takes that memory's place.
	changed
)

// decision is what is done with a new text.
type decision struct {
	kind kind
	// of is the memory that it repeats or replaces.
	of pdk.Memory
	// alike are the memories most like it where it is fresh.
	alike []pdk.Memory
}

// bySimilarity decides by words. Losing a fact is worse than keeping two, so
// whatever is not certain is fresh:
//
//   - duplicate when both say the same words in the same order, but for articles,
//     case, punctuation and who speaks of the person ("I", "the user");
//   - changed when the memory's words stand whole at the beginning of the new
//     text, or when both begin with the same words up to "is" or "in" and those
//     words name something of which a person has one, such as a name or a
//     favourite colour;
//   - fresh else. Similar ones are named, so that a model can judge.
func bySimilarity(text string, known []pdk.Memory) decision {
	words := normal(text)
	for _, m := range known {
		if slices.Equal(words, normal(m.Text)) {
			return decision{kind: duplicate, of: m}
		}
	}
	for _, m := range known {
		if old := normal(m.Text); extends(words, old) || sameSlot(words, old) {
			return decision{kind: changed, of: m}
		}
	}
	return decision{kind: fresh, alike: closest(text, known)}
}

// who are the words by which a text speaks of the person.
var who = map[string]string{
	"i": "@i", "me": "@i", "user": "@i", "person": "@i", "ich": "@i", "mir": "@i", "mich": "@i", "benutzer": "@i",
	"my": "@my", "mine": "@my", "user's": "@my", "users": "@my", "person's": "@my", "mein": "@my", "meine": "@my",
	"meiner": "@my", "meinen": "@my",
	"i'm": "@i am", "im": "im", "am": "is", "is": "is", "are": "is", "heiße": "heißt",
	"lives": "live", "likes": "like", "works": "work", "prefers": "prefer", "has": "have", "drinks": "drink",
	"eats": "eat", "wants": "want", "uses": "use",
	"speaks": "speak", "favorite": "favourite", "colour": "color",
}

// silent are words that change nothing.
var silent = map[string]bool{"the": true, "a": true, "an": true, "that": true, "please": true, "der": true, "die": true,
	"das": true, "ein": true, "eine": true, "dass": true, "bitte": true}

// normal are the words of a text by which it is compared. Accents count: to write
// Peña for Pena is to correct a memory.
func normal(text string) []string {
	var out []string
	fields := strings.FieldsFunc(fold.Letters(text), func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune("'+#@-_./:", r)
	})
	for _, w := range fields {
		if w = strings.Trim(w, "'-_./:"); w == "" || silent[w] {
			continue
		}
		if other, known := who[w]; known {
			w = other
		}
		out = append(out, strings.Fields(w)...)
	}
	return out
}

// extends tells whether text begins with all of old and goes on. An old text of
// one or two words is too short to be certain.
func extends(text, old []string) bool {
	return len(old) >= 3 && len(text) > len(old) && slices.Equal(text[:len(old)], old)
}

// unique are the things of which a person has one at a time.
var unique = map[string]bool{
	"favourite": true, "name": true, "birthday": true, "age": true, "email": true, "address": true, "employer": true,
	"timezone": true,
	"hometown": true, "lieblingsfarbe": true, "lieblingsessen": true, "lieblingstee": true, "geburtstag": true,
	"adresse": true, "alter": true,
}

// slots are beginnings after which a value stands, where a person has one.
var slots = [][]string{{"@i", "live", "in"}, {"@i", "is", "called"}, {"@i", "was", "born", "in"}, {"@i", "wohne", "in"},
	{"@i", "heißt"}}

// sameSlot tells whether both texts give a value for the same thing that a
// person has one of, and nothing beyond it.
func sameSlot(text, old []string) bool {
	for _, slot := range slots {
		if after, ok := value(text, slot); ok {
			before, same := value(old, slot)
			return same && short(after) && short(before)
		}
	}
	at, was := slices.Index(text, "is"), slices.Index(old, "is")
	if at < 1 || at != was || !slices.Equal(text[:at], old[:was]) || !short(text[at+1:]) || !short(old[was+1:]) {
		return false
	}
	// Only what belongs to the person directly: "my name", not "my dog's name".
	return text[0] == "@my" && len(text[:at]) <= 3 && unique[text[1]]
}

// value returns what follows a beginning.
func value(text, beginning []string) ([]string, bool) {
	if len(text) <= len(beginning) || !slices.Equal(text[:len(beginning)], beginning) {
		return nil, false
	}
	return text[len(beginning):], true
}

// unsure are words after which a value is more than a value.
var unsure = map[string]bool{"not": true, "no": true, "never": true, "and": true, "or": true, "but": true, "also": true,
	"when": true, "if": true,
	"nicht": true, "kein": true, "keine": true, "und": true, "oder": true, "aber": true, "auch": true, "wenn": true,
	"sometimes": true}

// short tells whether words are a plain value.
func short(words []string) bool {
	return len(words) >= 1 && len(words) <= 4 && !slices.ContainsFunc(words, func(w string) bool { return unsure[w] })
}
