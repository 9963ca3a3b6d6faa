package plugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/guest"
)

// catalogue is what is known of a plugin's tools: those that somebody has seen, and those
// that the module listed last. It is immutable.
type catalogue struct {
	// seen are the tools as somebody has seen them, also those that are not listed now: one
	// that comes back as another is held.
	seen []guest.Listed
	// listed is the module's last list.
	listed []guest.Listed
}

// maxSeen is how many tools of a plugin are remembered.
const maxSeen = 4 * guest.MaxTools

// installedList is the catalogue of a list that came with an install: whoever installs a
// plugin sees its tools.
func installedList(tools []guest.Listed) catalogue { return catalogue{tools, tools} }

// offered are the listed tools that are as somebody has seen them.
func (c catalogue) offered() []guest.Listed { return c.split(true) }

// held are the listed tools that nobody has seen as they are now.
func (c catalogue) held() []guest.Listed { return c.split(false) }

func (c catalogue) split(offered bool) []guest.Listed {
	var list []guest.Listed
	for _, l := range c.listed {
		if c.seenAs(l) == offered {
			list = append(list, l)
		}
	}
	return list
}

// seenAs reports whether somebody has seen a listed tool as it is now.
func (c catalogue) seenAs(l guest.Listed) bool {
	before := c.before(l.Name)
	return before != nil && same(*before, l)
}

// before returns a tool as somebody has seen it, nil for nobody.
func (c catalogue) before(name string) *guest.Listed {
	for i := range c.seen {
		if c.seen[i].Name == name {
			return &c.seen[i]
		}
	}
	return nil
}

// offers reports whether a tool is offered.
func (c catalogue) offers(name string) bool {
	return names(c.offered(), name)
}

// list returns the catalogue after the module listed its tools again. Where that followed
// what an operator did, tools of new names count as seen; one that was seen and is another
// now never does, nor one that was held before: an act that has nothing to do with it is no
// look at it.
func (c catalogue) list(tools []guest.Listed, byOperator bool) catalogue {
	next := catalogue{c.seen, tools}
	if !byOperator {
		return next
	}
	var fresh []guest.Listed
	for _, l := range tools {
		if c.before(l.Name) == nil && !names(c.listed, l.Name) {
			fresh = append(fresh, l)
		}
	}
	return next.see(fresh)
}

// names reports whether a list has a tool of that name.
func names(list []guest.Listed, name string) bool {
	return slices.ContainsFunc(list, func(l guest.Listed) bool { return l.Name == name })
}

// accept returns the catalogue after somebody saw the held tools, digest saying which.
// ok is false if other tools are held now.
func (c catalogue) accept(digest string) (next catalogue, ok bool) {
	held := c.held()
	if len(held) == 0 || digest != digestOf(held) {
		return c, false
	}
	return c.see(held), true
}

// see returns the catalogue with tools as they were seen now. Of more than maxSeen those
// that are not listed are forgotten first.
func (c catalogue) see(tools []guest.Listed) catalogue {
	if len(tools) == 0 {
		return c
	}
	seen := slices.DeleteFunc(slices.Clone(c.seen), func(old guest.Listed) bool {
		return names(tools, old.Name)
	})
	seen = append(seen, tools...)
	for i := 0; i < len(seen) && len(seen) > maxSeen; {
		if names(c.listed, seen[i].Name) {
			i++
			continue
		}
		seen = slices.Delete(seen, i, i+1)
	}
	return catalogue{seen, c.listed}
}

// equal reports whether both say the same.
func (c catalogue) equal(other catalogue) bool {
	return sameList(c.seen, other.seen) && sameList(c.listed, other.listed)
}

func sameList(a, b []guest.Listed) bool { return slices.EqualFunc(a, b, same) }

// same reports whether a tool is the other in all that a model or a person reads of it.
// Schemas are compared as JSON values: the order of keys means nothing.
func same(l, other guest.Listed) bool {
	return l.Name == other.Name && l.Title == other.Title && l.Description == other.Description &&
		sameJSON(l.InputSchema, other.InputSchema) && sameJSON(l.OutputSchema, other.OutputSchema)
}

// sameJSON reports whether two JSON values are the same; mostly they are in each byte.
func sameJSON(a, b json.RawMessage) bool { return bytes.Equal(a, b) || canonical(a) == canonical(b) }

// canonical writes a JSON value with its keys in order and its numbers as they are. What is
// no JSON stays as it is, and so does a value with an object that has a key twice: which of
// the two counts is the reader's choice, and a model reads both.
func canonical(data json.RawMessage) string {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil || repeatsKey(json.NewDecoder(strings.NewReader(string(data)))) {
		return string(data)
	}
	out, err := json.Marshal(value)
	if err != nil { // what was decoded encodes
		return string(data)
	}
	return string(out)
}

// repeatsKey reads one value, which is JSON, and tells whether an object in it has a key twice.
func repeatsKey(dec *json.Decoder) bool {
	begin, err := dec.Token()
	if err != nil || begin != json.Delim('{') && begin != json.Delim('[') {
		return false
	}
	keys := map[json.Token]bool{}
	for dec.More() {
		if begin == json.Delim('{') {
			key, err := dec.Token()
			if err != nil || keys[key] {
				return err == nil
			}
			keys[key] = true
		}
		if repeatsKey(dec) {
			return true
		}
	}
	_, _ = dec.Token() // the end of it, in what is JSON
	return false
}

// digestOf names a list of tools by its content, in 32 hex digits.
func digestOf(tools []guest.Listed) string {
	sum := sha256.New()
	enc := json.NewEncoder(sum)
	for _, l := range tools {
		// Strings encode, and a hash takes all.
		_ = enc.Encode([]string{l.Name, l.Title, l.Description, canonical(l.InputSchema), canonical(l.OutputSchema)})
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
