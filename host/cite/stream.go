// Package cite turns the citation markers of a model's stream into the numbers
// that a person sees.
//
// Two number spaces meet here and nowhere else. A ref is model-facing: one space
// per path of messages, what tools return and what the model writes, as in [7].
// A citation number is on screen: 1, 2, 3 … in order of first use within one
// answer, written [[1]]. Model text comes in, pieces of screen text go out, each
// with the citations that must be announced before it. The package knows
// nothing of runs, tools or storage.
//
// The grammar of a marker: "[7]", "[7, 9]", "[7-9]", "[ref 7]", "[[7]]", and "【7】" or
// "【7†…】", which some models write. A marker counts when one of its refs is a known
// document, it stands outside code and formulas, and no "(" follows, which would make it a
// link; of a list the known ones count. In the text of a link it moves behind the link. All
// else passes unchanged, except that a foreign "[[n]]" outside code loses one pair of
// brackets, since on screen it would look like ours.
package cite

import (
	"strconv"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Piece is text for the screen and the citations to announce before it.
type Piece struct {
	New  []packet.CitationInfo
	Text string
}

// maxMarker bounds how many bytes are held for what may become a marker.
const maxMarker = 96

// Stream rewrites the text of one answer as it comes. Make one with
// Answer.Stream for each block of text; it is not safe for concurrent use.
type Stream struct {
	answer *Answer
	place  place
	// held starts with a bracket that may open a marker.
	held string
	// atEnd is set by Close: no more input decides anything.
	atEnd bool
}

// Write takes the next piece of model text and returns what may be shown. Its
// text may be empty while a marker is undecided.
func (s *Stream) Write(delta string) Piece {
	var out strings.Builder
	var fresh []packet.CitationInfo
	in := s.held + delta
	s.held = ""
	for in != "" {
		at := strings.IndexAny(in, "[【")
		if at < 0 {
			at = partialBracket(in)
		}
		if at < 0 {
			at = len(in)
		}
		s.place.feed(in[:at])
		out.WriteString(in[:at])
		if in = in[at:]; in == "" {
			break
		}
		used, text, infos, ok := s.marker(in)
		if !ok {
			s.held = in
			break
		}
		fresh = append(fresh, infos...)
		s.place.feed(text)
		out.WriteString(text)
		in = in[used:]
	}
	return Piece{New: fresh, Text: out.String()}
}

// Close returns what was held. The stream must not be written to afterwards.
func (s *Stream) Close() Piece {
	s.atEnd = true
	return s.Write("")
}

// partialBracket returns where in ends with a part of "【", or -1.
func partialBracket(in string) int {
	for n := 1; n < len("【") && n <= len(in); n++ {
		if strings.HasPrefix("【", in[len(in)-n:]) {
			return len(in) - n
		}
	}
	return -1
}

// marker decides what in, which starts with a bracket, is. It returns how much
// of it is used and what is shown for that, or false while that is open.
func (s *Stream) marker(in string) (used int, text string, infos []packet.CitationInfo, ok bool) {
	switch s.place.at(in, s.atEnd) {
	case own:
		n := bracketLen(in)
		return n, in[:n], nil, true
	case undecided:
		return 0, "", nil, false
	}
	l, a := readLink(in, s.atEnd)
	switch {
	case a == undecided:
		return 0, "", nil, false
	case a == own:
		text, infos = s.link(l)
		return l.length, text, infos, true
	}
	m := readMarker(in)
	switch {
	case m.open && !s.atEnd && len(in) < maxMarker:
		return 0, "", nil, false
	case m.open || len(m.refs) == 0:
		n := bracketLen(in)
		return n, in[:n], nil, true
	case m.length == len(in) && !s.atEnd: // what follows decides whether it is a link
		return 0, "", nil, false
	case m.length < len(in) && in[m.length] == '(':
		return m.length, in[:m.length], nil, true
	}
	text, infos, ok = s.answer.number(m.refs)
	if !ok {
		text = in[:m.length]
		if m.double {
			text = text[1 : len(text)-1]
		}
	}
	return m.length, text, infos, true
}

// bracketLen is the length of the bracket that in starts with, or of the part of
// one that the text ended in.
func bracketLen(in string) int {
	if in[0] == '[' {
		return 1
	}
	return min(len("【"), len(in))
}

type mark struct {
	refs   []int
	length int
	double bool
	// open tells that the text ended before the marker could be told.
	open bool
}

// readMarker reads a marker at the start of in.
func readMarker(in string) mark {
	var m mark
	closer, i := "]", 1
	switch {
	case strings.HasPrefix(in, "【"):
		closer, i = "】", len("【")
	case strings.HasPrefix(in, "[["):
		closer, i, m.double = "]]", 2, true
	case in[0] != '[':
		return mark{open: strings.HasPrefix("【", in)}
	}
	body := in[i:]
	end := strings.Index(body, closer)
	if end < 0 {
		m.open = couldBeRefs(body, closer)
		return m
	}
	list, _, _ := strings.Cut(body[:end], "†")
	m.refs = readRefs(list)
	m.length = i + end + len(closer)
	return m
}

// couldBeRefs tells whether body may still become a list of refs before closer.
func couldBeRefs(body, closer string) bool {
	if list, _, found := strings.Cut(body, "†"); found && closer == "】" {
		return readRefs(list) != nil
	}
	body, word := withoutWord(body)
	if word == partOfWord {
		return true
	}
	for i, c := range body {
		switch {
		case c >= '0' && c <= '9', c == ',', c == ' ', c == '-', c == '–':
		case strings.HasPrefix(closer, body[i:]), closer == "】" && strings.HasPrefix("†", body[i:]):
			return true
		case strings.HasPrefix("–", body[i:]): // a part of it
			return true
		default:
			return false
		}
	}
	return true
}

// words are what models write before the numbers of refs.
var words = []string{"refs", "ref", "sources", "source"}

type wordState uint8

const (
	noWord wordState = iota
	wholeWord
	partOfWord
)

// withoutWord takes a word before the numbers off.
func withoutWord(body string) (rest string, state wordState) {
	low := strings.ToLower(body)
	for _, w := range words {
		if rest, ok := strings.CutPrefix(low, w); ok && rest != "" && (rest[0] == ' ' || rest[0] == '.') {
			return body[len(w)+1:], wholeWord
		}
		if body != "" && len(low) <= len(w) && strings.HasPrefix(w, low) {
			state = partOfWord
		}
	}
	return body, state
}

// mostInRange bounds how many refs a range stands for.
const mostInRange = 20

// readRefs reads "7", "7, 9", "7-9" or "refs 7, 9"; nil where it is anything else.
func readRefs(list string) []int {
	list, _ = withoutWord(list)
	var refs []int
	for part := range strings.SplitSeq(strings.ReplaceAll(list, "–", "-"), ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(strings.TrimSpace(first))
		if err != nil || from < 1 {
			return nil
		}
		to := from
		if isRange {
			if to, err = strconv.Atoi(strings.TrimSpace(last)); err != nil || to < from || to-from >= mostInRange {
				return nil
			}
		}
		for n := from; n <= to; n++ {
			refs = append(refs, n)
		}
	}
	return refs
}
