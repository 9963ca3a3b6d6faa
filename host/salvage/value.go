package salvage

import (
	"strings"
	"unicode/utf8"
)

// kind is the type of a value.
type kind uint8

const (
	absent kind = iota
	null
	boolean
	number
	text
	list
	object
)

// value is a JSON value whose objects keep the order of their keys and whose
// numbers keep the digits as they were written. A repeated key is kept: readers
// take the last.
type value struct {
	kind kind
	// str is the decoded string, or the digits of a number, or true or false.
	str   string
	items []value
	// keys are the names of items, in an object.
	keys []string
}

func stringValue(s string) value { return value{kind: text, str: s} }

// get returns a field of an object, the last of its name, else an absent value.
func (v value) get(key string) value {
	if v.kind == object {
		for i := len(v.keys) - 1; i >= 0; i-- {
			if v.keys[i] == key {
				return v.items[i]
			}
		}
	}
	return value{}
}

// set replaces a field or adds it.
func (v *value) set(key string, item value) {
	for i, k := range v.keys {
		if k == key {
			v.items[i] = item
			return
		}
	}
	v.keys = append(v.keys, key)
	v.items = append(v.items, item)
}

// compact returns the JSON text of v without whitespace.
func (v value) compact() string {
	var b strings.Builder
	v.write(&b)
	return b.String()
}

func (v value) write(b *strings.Builder) {
	switch v.kind {
	case boolean, number:
		b.WriteString(v.str)
	case text:
		writeString(b, v.str)
	case list:
		b.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.write(b)
		}
		b.WriteByte(']')
	case object:
		v.writeObject(b)
	default:
		b.WriteString("null")
	}
}

func (v value) writeObject(b *strings.Builder) {
	b.WriteByte('{')
	first := true
	for i, k := range v.keys {
		if v.repeatedLater(i) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		writeString(b, k)
		b.WriteByte(':')
		v.items[i].write(b)
	}
	b.WriteByte('}')
}

// repeatedLater tells whether key i occurs again. Objects that a model writes are
// small; those with many keys are not checked, so that writing stays linear.
func (v value) repeatedLater(i int) bool {
	if len(v.keys) > 256 {
		return false
	}
	for _, k := range v.keys[i+1:] {
		if k == v.keys[i] {
			return true
		}
	}
	return false
}

const hexDigits = "0123456789abcdef"

// writeString writes s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func writeString(b *strings.Builder, s string) {
	b.Grow(len(s) + len(s)/8 + 2)
	b.WriteByte('"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b.WriteString(s[from:i])
				b.WriteString("\ufffd")
				from = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b.WriteString(s[from:i])
		writeEscape(b, c)
		i++
		from = i
	}
	b.WriteString(s[from:])
	b.WriteByte('"')
}

func writeEscape(b *strings.Builder, c byte) {
	switch c {
	case '"', '\\':
		b.WriteByte('\\')
		b.WriteByte(c)
	case '\n':
		b.WriteString(`\n`)
	case '\r':
		b.WriteString(`\r`)
	case '\t':
		b.WriteString(`\t`)
	default:
		b.WriteString(`\u00`)
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
}
