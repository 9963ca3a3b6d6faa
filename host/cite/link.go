package cite

import (
	"strings"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// link is [label](target) at the start of a text.
type link struct {
	label, target string
	length        int
}

// maxLink bounds a link that is looked at, in bytes.
const maxLink = 400

// readLink reads a link with a bracket in its label or its target. It is own for one, plain where there
// is none, and undecided while the text ends too early; all tells that nothing follows.
func readLink(in string, all bool) (link, doubt) {
	if in[0] != '[' {
		return link{}, plain
	}
	if len(in) >= maxLink {
		in, all = in[:maxLink], true
	}
	label, a := balanced(in, '[', ']')
	switch {
	case a == undecided && !all:
		return link{}, undecided
	case a != own:
		return link{}, plain
	}
	rest := in[len(label)+2:]
	switch {
	case rest == "" && !all:
		return link{}, undecided
	case rest == "" || rest[0] != '(':
		return link{}, plain
	}
	target, a := balanced(rest, '(', ')')
	switch {
	case a == undecided && !all:
		return link{}, undecided
	case a != own || !strings.ContainsAny(label+target, "[【"):
		return link{}, plain
	}
	return link{label, target, len(label) + len(target) + 4}, own
}

// balanced returns what stands between the bracket that in begins with and its partner on
// the same line.
func balanced(in string, open, closing byte) (inner string, a doubt) {
	depth := 0
	for i := 0; i < len(in); i++ {
		switch in[i] {
		case '\\':
			i++
		case '\n':
			return "", plain
		case open:
			depth++
		case closing:
			if depth--; depth == 0 {
				return in[1:i], own
			}
		}
	}
	return "", undecided
}

// link writes a link with the markers of its label behind it.
func (s *Stream) link(l link) (string, []packet.CitationInfo) {
	var label, behind strings.Builder
	var fresh []packet.CitationInfo
	for rest := l.label; rest != ""; {
		at := strings.IndexAny(rest, "[【")
		if at < 0 {
			label.WriteString(rest)
			break
		}
		label.WriteString(rest[:at])
		rest = rest[at:]
		m := readMarker(rest)
		if len(m.refs) > 0 && !m.open {
			if text, infos, ok := s.answer.number(m.refs); ok {
				behind.WriteString(text)
				fresh = append(fresh, infos...)
				rest = rest[m.length:]
				continue
			}
		}
		n := bracketLen(rest)
		label.WriteString(rest[:n])
		rest = rest[n:]
	}
	text := label.String()
	if behind.Len() > 0 {
		text = strings.TrimRight(text, " ")
	}
	return "[" + text + "](" + l.target + ")" + behind.String(), fresh
}
