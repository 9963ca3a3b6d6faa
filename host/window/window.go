// Package window fits a conversation into a model's context window. The whole
// history comes in, the messages to send go out: where they do not fit, results of
// tools are left out first and the oldest exchanges after them. It knows messages
// and budgets, and nothing of runs, packets or storage.
package window

import (
	"errors"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// ErrTooLong is returned when the system message, the tools and the person's latest
// message alone exceed the window, with what followed that message as short as it
// can be.
var ErrTooLong = errors.New("window: the latest message does not fit the context window")

// replyShare is the part of the window that is kept for the answer: a quarter.
const replyShare = 4

// Ask is what is to be fitted.
type Ask struct {
	System  string
	History []llm.Message
	// Latest is the index in History of the person's latest message. It is always
	// sent.
	Latest int
	// Reminder is a note for this time only, "" for none. It stands last, so that what
	// comes before it is the same each time.
	Reminder string
	// Tools are on offer. Recall, where it is not nil, is offered besides when
	// something of a result is left out, and counts only then.
	Tools  []llm.ToolDef
	Recall *llm.ToolDef
	// ContextTokens is the size of the window, 0 for one that is not known and then
	// not limited.
	ContextTokens int
	// Sees tells that images count.
	Sees bool
}

// Fitted is what is to be sent.
type Fitted struct {
	Messages []llm.Message
	// Dropped counts the messages that are left out, LeftOut the results in Messages
	// that are left out or shortened to save room, Capped those of which no more than
	// MaxShownRunes are ever sent, and Cut the calls whose arguments are shortened.
	Dropped, LeftOut, Capped, Cut int
}

// Partial tells whether something of a result in Messages is not sent.
func (f Fitted) Partial() bool { return f.LeftOut+f.Capped > 0 }

// Fit returns the system message and as much of the history as fits. What does not
// fit gives way in this order, and only as far as it must:
//
//  1. Results of tools, the oldest first, but those of the last cycle. A line stands
//     for each and names its handle.
//  2. Whole exchanges, the oldest first. An exchange is a message of the person and
//     all that followed it.
//  3. The middle of the last cycle's results, of the largest first.
//  4. Earlier cycles since the latest message, the oldest first.
//  5. The middle of the last cycle's arguments, of the largest first.
//  6. The last cycle's results altogether, the first ones first.
//
// A call is always sent with its result. The history that came in is not changed.
func Fit(ask Ask) (Fitted, error) {
	f := newFitting(ask)
	if !f.fits() {
		f.leaveOutResults(f.cycle)
		f.dropExchanges()
		f.shortenLastCycle()
		f.dropCycles()
		f.shortenArguments()
		f.leaveOutResults(len(f.History))
	}
	if !f.fits() {
		return Fitted{}, ErrTooLong
	}
	return f.fitted(), nil
}

// fitting is a history on its way into the window.
type fitting struct {
	Ask
	// messages are the history's, with results as they are to be sent; gone says
	// which are not sent.
	messages []llm.Message
	gone     []bool
	// cost is what each message takes, in tokens; used is the sum of those that are
	// sent.
	cost []int
	used int
	// budget is what they may take, negative for no limit that was met.
	budget int
	// cycle is the index of the last cycle's message with calls, or beyond the end.
	cycle int
	// shortened says which results are not sent whole for want of room, and capped
	// which ones for their size alone.
	shortened, capped map[int]bool
	// cut counts the calls whose arguments are shortened.
	cut int
	// own says that messages is not the caller's any more.
	own bool
}

func newFitting(ask Ask) *fitting {
	f := &fitting{
		Ask: ask, messages: ask.History, gone: make([]bool, len(ask.History)), cost: make([]int, len(ask.History)),
		cycle: lastCycle(ask.History, ask.Latest), shortened: map[int]bool{}, capped: map[int]bool{},
	}
	f.capResults()
	for i, m := range f.messages {
		f.cost[i] = m.Tokens(f.Sees)
		f.used += f.cost[i]
	}
	if f.Reminder != "" {
		f.used += f.note().Tokens(false)
	}
	f.budget = f.ContextTokens - f.ContextTokens/replyShare - Tokens(f.System) - toolTokens(f.Tools)
	if f.Recall != nil && (len(f.capped) > 0 || !f.fits()) {
		f.budget -= toolTokens([]llm.ToolDef{*f.Recall})
	}
	return f
}

// lastCycle returns the index of the last message with calls after latest, if no
// answer followed it, else the number of messages.
func lastCycle(history []llm.Message, latest int) int {
	for i := len(history) - 1; i > latest; i-- {
		if history[i].Role == llm.RoleAssistant {
			if len(history[i].ToolCalls) > 0 {
				return i
			}
			break
		}
	}
	return len(history)
}

func (f *fitting) fits() bool { return f.ContextTokens <= 0 || f.used <= f.budget }

// replace sets the text of a message.
func (f *fitting) replace(i int, text string) {
	f.change(i, func(m *llm.Message) { m.Text = text })
}

// change changes a message.
func (f *fitting) change(i int, change func(*llm.Message)) {
	if !f.own {
		f.messages, f.own = append([]llm.Message(nil), f.messages...), true
	}
	change(&f.messages[i])
	f.used -= f.cost[i]
	f.cost[i] = f.messages[i].Tokens(f.Sees)
	f.used += f.cost[i]
}

// drop leaves out the messages from i up to, without, end.
func (f *fitting) drop(i, end int) {
	for ; i < end; i++ {
		if !f.gone[i] {
			f.gone[i] = true
			f.used -= f.cost[i]
		}
	}
}

// dropExchanges leaves out whole exchanges before the latest.
func (f *fitting) dropExchanges() {
	from := 0
	for i := 1; i <= f.Latest && i < len(f.messages) && !f.fits(); i++ {
		if f.messages[i].Role == llm.RoleUser {
			f.drop(from, i)
			from = i
		}
	}
}

// dropCycles leaves out cycles since the latest message, before the last: a message
// of the model with what followed it up to its next.
func (f *fitting) dropCycles() {
	from := f.Latest + 1
	for i := from + 1; i <= f.cycle && i < len(f.messages) && !f.fits(); i++ {
		if f.messages[i].Role == llm.RoleAssistant {
			f.drop(from, i)
			from = i
		}
	}
}

// note is the reminder as a message.
func (f *fitting) note() llm.Message {
	return llm.Message{Role: llm.RoleUser, Text: f.Reminder, Note: true}
}

func (f *fitting) fitted() Fitted {
	out := Fitted{Messages: make([]llm.Message, 0, len(f.messages)+1), Cut: f.cut}
	if f.System != "" {
		out.Messages = append(out.Messages, llm.Message{Role: llm.RoleSystem, Text: f.System})
	}
	for i, m := range f.messages {
		switch {
		case f.gone[i]:
			out.Dropped++
			continue
		case f.shortened[i]:
			out.LeftOut++
		case f.capped[i]:
			out.Capped++
		}
		out.Messages = append(out.Messages, m)
	}
	if f.Reminder != "" {
		out.Messages = append(out.Messages, f.note())
	}
	return out
}

func toolTokens(tools []llm.ToolDef) int {
	n := 0
	for _, t := range tools {
		n += ToolTokens(t)
	}
	return n
}

// ToolTokens estimates how many tokens the definition of a tool takes, on the high
// side.
func ToolTokens(t llm.ToolDef) int {
	return Tokens(t.Name) + Tokens(t.Description) + Tokens(string(t.Parameters))
}

// Tokens estimates how many tokens a text takes, on the high side, as llm.Tokens
// does.
func Tokens(text string) int { return llm.Tokens(text) }
