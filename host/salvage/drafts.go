package salvage

import "strings"

// Drafts returns the calls with which reasoning ends: marked and whole ones of the tools,
// with nothing behind them. They are what a model asked for that said nothing else.
func Drafts(reasoning string, tools []Tool) []Call {
	if len(tools) == 0 {
		return nil
	}
	exact := make([]Tool, len(tools))
	for i, t := range tools {
		t.Exact = true
		exact[i] = t
	}
	p := New(Options{Tools: exact}).newDrafts()
	var calls []Call
	take := func(events []Event) {
		for _, e := range events {
			switch e := e.(type) {
			case Call:
				e.ID = 0
				calls = append(calls, e)
			case Text:
				if strings.TrimSpace(e.Delta) != "" {
					calls = nil
				}
			case Malformed:
				calls = nil
			}
		}
	}
	take(p.Write(reasoning))
	take(p.Close())
	for _, c := range calls {
		if c.Inexact || !p.tools.listed(c.Name) {
			return nil
		}
	}
	return calls
}
