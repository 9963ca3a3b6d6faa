// Package pattern finds the places in a text that a regular expression matches, with a bound
// on the work and an end when its caller has gone.
//
// One search of RE2 takes time that is linear in the text, but a list of all matches may not:
// where the end of an expression is optional, each match can read all of the text to look for
// it. An expression, a text and a bound come in; places go out. It must not know whose text
// it is, or what is done with the places.
package pattern

import (
	"context"
	"errors"
	"io"
	"iter"
	"regexp"
	"unicode/utf8"
)

// ErrTooMuch is returned when the matches are not all found within the bound.
var ErrTooMuch = errors.New("the regular expression takes too long on this text")

// Pattern is a regular expression. It is immutable and safe for concurrent use.
type Pattern struct {
	expr *regexp.Regexp
	// later finds the first match behind one character, so that a search that begins within
	// a text knows what stands before it.
	later *regexp.Regexp
}

// Compile reads an expression in the syntax of RE2. The error is that of regexp.Compile.
func Compile(expr string) (*Pattern, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	later, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + expr + `)`)
	return &Pattern{re, later}, err
}

// Match tells whether a text has a match.
func (p *Pattern) Match(text string) bool { return p.expr.MatchString(text) }

// Expand appends a replacement to dst, its groups filled in as regexp.Regexp.Expand does.
func (p *Pattern) Expand(dst []byte, replacement, text string, match []int) []byte {
	return p.expr.ExpandString(dst, replacement, text, match)
}

// All returns the matches from a byte of the text on that do not overlap, as
// regexp.Regexp.FindAllStringSubmatchIndex does: pairs of byte offsets of the match and of its
// groups. At most work characters are read for it, some of them more than once; a few at the
// beginning of each match do not count. The last element has an error where that is not
// enough (ErrTooMuch) or ctx is done.
func (p *Pattern) All(ctx context.Context, text string, from, work int) iter.Seq2[[]int, error] {
	return func(yield func([]int, error) bool) {
		before := -1 // the end of the match before
		for at := from; at <= len(text); {
			match, err := p.first(ctx, text, at, &work)
			if err != nil {
				yield(nil, err)
				return
			}
			if match == nil {
				return
			}
			begin, end := match[0], match[1]
			if (end > at || begin != before) && !yield(match, nil) {
				return
			}
			if before = end; end > at {
				at = end
				continue
			}
			_, size := utf8.DecodeRuneInString(text[at:])
			at += max(size, 1)
		}
	}
}

// first returns the first match from a byte on, nil for none.
func (p *Pattern) first(ctx context.Context, text string, at int, work *int) ([]int, error) {
	_, size := utf8.DecodeLastRuneInString(text[:at])
	r := &reader{ctx: ctx, text: text[at-size:], free: freeReads, left: work}
	var match []int
	if size == 0 {
		match = p.expr.FindReaderSubmatchIndex(r)
	} else if match = p.later.FindReaderSubmatchIndex(r); match != nil {
		match = match[2:]
	}
	for i := range match {
		if match[i] >= 0 {
			match[i] += at - size
		}
	}
	return match, r.err
}

const (
	// freeReads is how many characters each search reads that do not count: one before the
	// match, and the two that the library reads ahead.
	freeReads = 8
	// readsPerLook is how many characters are read between two looks at the context.
	readsPerLook = 1 << 12
)

// reader gives a text to the search and ends it early with err set.
type reader struct {
	ctx  context.Context
	text string
	free int
	left *int
	err  error
}

var _ io.RuneReader = (*reader)(nil)

// ReadRune implements io.RuneReader.
func (r *reader) ReadRune() (rune, int, error) {
	if r.err != nil || r.text == "" {
		return 0, 0, io.EOF
	}
	switch {
	case r.free > 0:
		r.free--
	case *r.left <= 0:
		r.err = ErrTooMuch
	default:
		if *r.left--; *r.left%readsPerLook == 0 {
			r.err = r.ctx.Err()
		}
	}
	if r.err != nil {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRuneInString(r.text)
	r.text = r.text[size:]
	return c, size, nil
}
