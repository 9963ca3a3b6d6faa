package salvage

import "strings"

// Outcome is what came of a whole answer.
type Outcome struct {
	// Content is the text to show, all pieces joined.
	Content   string
	Reasoning string
	Calls     []Call
	// Malformed holds the raw text of what was meant as a call and was not one.
	Malformed []string
	Notices   []NoticeCode
}

// Parse reads a whole answer.
func Parse(text string, o Options) Outcome {
	var j joiner
	p := New(o)
	j.add(p.Write(text))
	j.add(p.Close())
	return j.outcome()
}

// ParseChunks reads an answer piece by piece. The outcome does not depend on
// where the pieces begin and end.
func ParseChunks(chunks []string, o Options) Outcome {
	var j joiner
	p := New(o)
	for _, c := range chunks {
		j.add(p.Write(c))
	}
	j.add(p.Close())
	return j.outcome()
}

// joiner joins events into an Outcome.
type joiner struct {
	content, reasoning strings.Builder
	out                Outcome
}

func (j *joiner) add(events []Event) {
	for _, e := range events {
		switch e := e.(type) {
		case Text:
			j.content.WriteString(e.Delta)
		case Reasoning:
			j.reasoning.WriteString(e.Delta)
		case Call:
			j.out.Calls = append(j.out.Calls, e)
		case Malformed:
			j.out.Malformed = append(j.out.Malformed, e.Raw)
		case Notice:
			j.out.Notices = append(j.out.Notices, e.Code)
		}
	}
}

func (j *joiner) outcome() Outcome {
	j.out.Content, j.out.Reasoning = j.content.String(), j.reasoning.String()
	return j.out
}
