package turn

import (
	"encoding/json"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/window"
)

// path is a branch of messages as the loop needs it.
type path struct {
	history []llm.Message
	// said is the same without tools, for those that may see the history; the
	// latest message is apart.
	said  []tool.Message
	query string
	// documents are what the branch knows, each with its ref.
	documents []packet.Document
	// highest is the highest ref of the branch.
	highest int
	// attached tells that a message of the branch carries a file that is there.
	attached bool
}

// readPath turns stored messages, root to leaf, into history. files are those
// that the messages carry and that are still there, by id.
func readPath(branch []Message, files map[string]file) path {
	var p path
	for _, m := range branch {
		if m.Role == store.RoleUser {
			if p.query != "" {
				p.said = append(p.said, tool.Message{Role: store.RoleUser, Text: p.query})
			}
			p.query = m.Text
			p.history = append(p.history, llm.Message{Role: llm.RoleUser, Text: m.Text,
				Attachments: p.attach(m.Files, files)})
			continue
		}
		if m.Text != "" {
			if p.query != "" {
				p.said = append(p.said, tool.Message{Role: store.RoleUser, Text: p.query})
				p.query = ""
			}
			p.said = append(p.said, tool.Message{Role: store.RoleAssistant, Text: m.Text})
		}
		for _, s := range m.Steps {
			p.addStep(s)
		}
	}
	return p
}

// addStep writes a step as history: each call has exactly one result. What the host told
// the model stays there, so that a history only grows.
func (p *path) addStep(s journal.Taken) {
	if s.Note != "" {
		p.history = append(p.history, llm.Message{Role: llm.RoleUser, Text: s.Note, Note: true})
		return
	}
	if s.Text == "" && len(s.Calls) == 0 {
		return
	}
	assistant := llm.Message{Role: llm.RoleAssistant, Text: s.Text, Native: nativeOf(s.Native)}
	for _, c := range s.Calls {
		assistant.ToolCalls = append(assistant.ToolCalls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	p.history = append(p.history, assistant)
	for _, r := range s.Results {
		for _, d := range r.Documents {
			p.documents = append(p.documents, d)
			p.highest = max(p.highest, d.Ref)
		}
		p.history = append(p.history, llm.Message{Role: llm.RoleTool, ToolCallID: r.CallID, ToolName: r.Name,
			Text: r.Text})
	}
}

// nativeOf is what a provider wants to see again, nil for none and for what cannot
// be read.
func nativeOf(data json.RawMessage) *llm.Native {
	if len(data) == 0 {
		return nil
	}
	var n llm.Native
	if err := json.Unmarshal(data, &n); err != nil {
		return nil
	}
	return &n
}

// left is what the last step of an answer that goes on leaves for the next one, as
// far as its results have not been answered.
func left(steps []journal.Taken) (reminders []string, noMore bool) {
	if len(steps) == 0 {
		return nil, false
	}
	if steps[len(steps)-1].Note == window.NoTools {
		return nil, true
	}
	for _, r := range steps[len(steps)-1].Results {
		noMore = noMore || r.StopsLoop
		if r.Reminder != "" && !slices.Contains(reminders, r.Reminder) {
			reminders = append(reminders, r.Reminder)
		}
	}
	return reminders, noMore
}
