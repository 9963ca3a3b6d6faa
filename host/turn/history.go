package turn

import (
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/loop"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// path is a branch of messages as the loop needs it.
type path struct {
	history []llm.Message
	// said is the same without tools, for those that may see the history; the
	// latest message is apart.
	said  []tool.Turn
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
func readPath(branch []store.Message, files map[string]file) path {
	var p path
	for _, m := range branch {
		if m.Role == store.RoleUser {
			if p.query != "" {
				p.said = append(p.said, tool.Turn{Role: store.RoleUser, Text: p.query})
			}
			p.query = m.Text
			p.history = append(p.history, llm.Message{Role: llm.RoleUser, Text: m.Text, Attachments: p.attach(m.Files, files)})
			continue
		}
		if m.Text != "" {
			if p.query != "" {
				p.said = append(p.said, tool.Turn{Role: store.RoleUser, Text: p.query})
				p.query = ""
			}
			p.said = append(p.said, tool.Turn{Role: store.RoleAssistant, Text: m.Text})
		}
		for _, s := range m.Steps {
			p.addStep(s)
		}
	}
	return p
}

// addStep writes a stored step as history: each call has exactly one result.
func (p *path) addStep(s store.Step) {
	if s.Text == "" && len(s.Calls) == 0 {
		return
	}
	assistant := llm.Message{Role: llm.RoleAssistant, Text: s.Text, Native: (*llm.Native)(s.Native)}
	for _, c := range s.Calls {
		assistant.ToolCalls = append(assistant.ToolCalls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	p.history = append(p.history, assistant)
	results := map[string]store.Result{}
	for _, r := range s.Results {
		results[r.CallID] = r
		for _, d := range r.Documents {
			p.documents = append(p.documents, packet.Document(d))
			p.highest = max(p.highest, d.Ref)
		}
	}
	for _, c := range s.Calls {
		r, ok := results[c.ID]
		if !ok {
			r.Text = "The call was interrupted."
		}
		p.history = append(p.history, llm.Message{Role: llm.RoleTool, ToolCallID: c.ID, ToolName: c.Name, Text: r.Text})
	}
}

// storedSteps writes the loop's steps as the store keeps them.
func storedSteps(steps []loop.Step) []store.Step {
	out := make([]store.Step, 0, len(steps))
	for _, s := range steps {
		step := store.Step{Text: s.Text, Reasoning: s.Reasoning, Native: (*store.Native)(s.Native)}
		for _, c := range s.Calls {
			step.Calls = append(step.Calls, store.Call{ID: c.CallID, Name: c.Name, Arguments: c.Arguments})
			step.Results = append(step.Results, store.Result{
				CallID: c.CallID, Name: c.Name, Text: c.Text, Failed: c.Failed(), Held: c.Held, Documents: storedDocuments(c.Documents),
			})
		}
		out = append(out, step)
	}
	return out
}

// citationsBefore are the citations of an answer that goes on.
func citationsBefore(m store.Message) []packet.CitationInfo {
	out := make([]packet.CitationInfo, len(m.Citations))
	for i, c := range m.Citations {
		out[i] = packet.CitationInfo{CitationNumber: c.Number, Ref: c.Ref, Document: packet.Document(c.Document)}
	}
	return out
}

func storedDocuments(docs []packet.Document) []store.Document {
	out := make([]store.Document, len(docs))
	for i, d := range docs {
		out[i] = store.Document(d)
	}
	return out
}

func storedCitations(infos []packet.CitationInfo) []store.Citation {
	out := make([]store.Citation, len(infos))
	for i, c := range infos {
		out[i] = store.Citation{Number: c.CitationNumber, Ref: c.Ref, Document: store.Document(c.Document)}
	}
	return out
}
