// Package aggregate builds the whole of a run from its packets: for a client
// that wants one reply instead of a stream, and for the terminal.
//
// Packets come in through Add in the order of their seq; Run goes out at any
// time. It knows packets and nothing else of the host.
package aggregate

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Run is what a run has come to.
type Run struct {
	Run           string            `json:"run"`
	Epoch         int64             `json:"epoch"`
	SessionID     string            `json:"session_id,omitempty"`
	UserMessageID string            `json:"user_message_id"`
	StopReason    packet.StopReason `json:"stop_reason,omitempty"`
	// Messages has one entry for each model, by model_index.
	Messages []Message `json:"messages"`
	// Notices belong to the run or to any of its models.
	Notices []packet.Notice `json:"notices,omitempty"`
}

// Message is the answer of one model.
type Message struct {
	ModelIndex int               `json:"model_index"`
	MessageID  string            `json:"message_id"`
	Model      string            `json:"model"`
	StopReason packet.StopReason `json:"stop_reason,omitempty"`
	// Text is the answer with its [[n]] markers, exactly as it is stored.
	Text      string            `json:"text"`
	Reasoning string            `json:"reasoning,omitempty"`
	ToolCalls []ToolCall        `json:"tool_calls"`
	Documents []packet.Document `json:"documents"`
	Citations []Citation        `json:"citations"`
	Usage     packet.Usage      `json:"usage"`
	Error     *packet.Error     `json:"error,omitempty"`
}

// ToolCall is one call with what came of it.
type ToolCall struct {
	CallID       string          `json:"call_id"`
	ParentCallID string          `json:"parent_call_id,omitempty"`
	Tool         string          `json:"tool"`
	Plugin       string          `json:"plugin"`
	Title        string          `json:"title"`
	Arguments    json.RawMessage `json:"arguments,omitempty"`
	// Outcome is "" while the call runs.
	Outcome    packet.Outcome    `json:"outcome,omitempty"`
	DurationMS int64             `json:"duration_ms"`
	Output     string            `json:"output,omitempty"`
	Files      []packet.File     `json:"files,omitempty"`
	HostCalls  []packet.HostCall `json:"host_calls,omitempty"`
	Error      *packet.ToolError `json:"error,omitempty"`
}

// Citation is a document that the answer cites.
type Citation struct {
	Number   int             `json:"citation_number"`
	Ref      int             `json:"ref"`
	Document packet.Document `json:"document"`
}

// Aggregator gathers packets. The zero Aggregator is ready; it is for one
// goroutine.
type Aggregator struct {
	run    Run
	models map[int]*model
}

// model is an answer that is being gathered.
type model struct {
	message         Message
	text, reasoning strings.Builder
	calls           []*call
	// open finds the call of a block for its section_end, which has no call id.
	open map[packet.Key]*call
}

type call struct {
	ToolCall
	output strings.Builder
}

// Add takes the next packet. Types that it does not know are passed over.
func (a *Aggregator) Add(p packet.Packet) {
	a.run.Run, a.run.Epoch = p.Run, p.Epoch
	switch o := p.Obj.(type) {
	case packet.SessionCreated:
		a.run.SessionID = o.SessionID
	case packet.RunStarted:
		a.run.UserMessageID = o.UserMessageID
		for _, r := range o.Responses {
			m := a.model(r.ModelIndex)
			m.message.MessageID, m.message.Model = r.MessageID, r.Model
		}
	case packet.Notice:
		a.run.Notices = append(a.run.Notices, o)
	default:
		if p.Placement.ModelIndex != nil {
			a.model(*p.Placement.ModelIndex).add(p.Placement.Key(), o)
		} else if stop, ok := o.(packet.Stop); ok {
			a.run.StopReason = stop.Reason
		}
	}
}

func (a *Aggregator) model(index int) *model {
	if a.models == nil {
		a.models = make(map[int]*model)
	}
	m, ok := a.models[index]
	if !ok {
		m = &model{open: make(map[packet.Key]*call)}
		m.message.ModelIndex = index
		a.models[index] = m
	}
	return m
}

func (m *model) add(place packet.Key, obj packet.Obj) {
	switch o := obj.(type) {
	case packet.MessageDelta:
		m.text.WriteString(o.Content)
	case packet.ReasoningDelta:
		if place.SubTurn >= 0 { // of an agent inside a call
			return
		}
		m.reasoning.WriteString(o.Reasoning)
	case packet.CitationInfo:
		m.message.Citations = append(m.message.Citations, Citation{o.CitationNumber, o.Ref, o.Document})
	case packet.Usage:
		m.message.Usage.InputTokens += o.InputTokens
		m.message.Usage.OutputTokens += o.OutputTokens
		m.message.Usage.CachedTokens += o.CachedTokens
		m.message.Usage.Cost += o.Cost
	case packet.Error:
		m.message.Error = &o
	case packet.Stop:
		m.message.StopReason = o.Reason
	default:
		m.addTool(place, obj)
	}
}

func (m *model) addTool(place packet.Key, obj packet.Obj) {
	if o, ok := obj.(packet.ToolStart); ok {
		c := &call{ToolCall: ToolCall{CallID: o.CallID, ParentCallID: o.ParentCallID, Tool: o.Tool, Plugin: o.Plugin,
			Title: o.Title}}
		m.calls = append(m.calls, c)
		m.open[place] = c
		return
	}
	if o, ok := obj.(packet.ToolDocuments); ok {
		m.addDocuments(o.Documents)
		return
	}
	c := m.open[place]
	if c == nil {
		return
	}
	switch o := obj.(type) {
	case packet.ToolArgs:
		c.Arguments = o.Arguments
	case packet.ToolOutput:
		c.output.WriteString(o.Delta)
	case packet.ToolFiles:
		c.Files = append(c.Files, o.Files...)
	case packet.ToolError:
		c.Error = &o
	case packet.SectionEnd:
		c.Outcome, c.DurationMS, c.HostCalls = o.Outcome, o.DurationMS, o.HostCalls
		delete(m.open, place)
	}
}

// addDocuments keeps each document once, by id.
func (m *model) addDocuments(docs []packet.Document) {
	for _, d := range docs {
		known := slices.ContainsFunc(m.message.Documents, func(k packet.Document) bool { return k.ID == d.ID })
		if !known {
			m.message.Documents = append(m.message.Documents, d)
		}
	}
}

// Run returns what the packets so far have come to. The value is the caller's.
func (a *Aggregator) Run() Run {
	run := a.run
	run.Notices = slices.Clone(a.run.Notices)
	run.Messages = make([]Message, 0, len(a.models))
	for _, m := range a.models {
		run.Messages = append(run.Messages, m.snapshot())
	}
	slices.SortFunc(run.Messages, func(x, y Message) int { return x.ModelIndex - y.ModelIndex })
	return run
}

func (m *model) snapshot() Message {
	msg := m.message
	msg.Text, msg.Reasoning = m.text.String(), m.reasoning.String()
	msg.ToolCalls = make([]ToolCall, 0, len(m.calls))
	for _, c := range m.calls {
		tc := c.ToolCall
		tc.Output = c.output.String()
		msg.ToolCalls = append(msg.ToolCalls, tc)
	}
	msg.Documents = append([]packet.Document{}, m.message.Documents...)
	msg.Citations = append([]Citation{}, m.message.Citations...)
	return msg
}
