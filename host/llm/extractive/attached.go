package extractive

import (
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// pieceBytes is about how much of a file makes one passage.
const pieceBytes = 1500

// attachedPassages are the files that stand whole in the conversation, in
// passages; the last attached come first.
func (e *exchange) attachedPassages() []passage {
	var out []passage
	for _, a := range e.attached {
		if !a.Whole || a.IsImage() {
			continue
		}
		for _, piece := range pieces(a.Text) {
			if len(out) < maxPassages {
				out = append(out, passage{Ref: a.Ref, Title: a.Name, Content: piece})
			}
		}
	}
	return out
}

// pieces cuts a text at empty lines, or at ends of lines where there are none
// near.
func pieces(text string) []string {
	var out []string
	for len(text) > pieceBytes {
		at := strings.LastIndex(text[:pieceBytes], "\n\n")
		if at < pieceBytes/2 {
			at = strings.LastIndexByte(text[:pieceBytes], '\n')
		}
		if at <= 0 {
			if at = strings.LastIndexByte(text[:pieceBytes], ' '); at <= 0 {
				at = len(strings.ToValidUTF8(text[:pieceBytes], ""))
			}
		}
		out = append(out, text[:at])
		text = text[at:]
	}
	return append(out, text)
}

// unread is the last attached text that does not stand whole here.
func (e *exchange) unread() (llm.Attachment, bool) {
	for _, a := range e.attached {
		if !a.Whole && !a.Gone && !a.IsImage() {
			return a, true
		}
	}
	return llm.Attachment{}, false
}
