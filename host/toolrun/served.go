package toolrun

import (
	"encoding/json"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// Served shows a tool that the model's provider ran itself, such as its web
// search, in a block of its own at place. It ran there, outside the sandbox: what
// was asked left this machine, and what came back was written by strangers. query
// is "" where the provider does not say what was asked.
func (r *Runner) Served(place packet.Placement, name, query string, failed bool) {
	id := r.config.NewID()
	arguments := []byte("{}")
	if query != "" {
		if data, err := json.Marshal(map[string]string{"query": query}); err == nil { // a string always encodes
			arguments = data
		}
	}
	r.config.Emit.Emit(place, packet.ToolStart{CallID: id, Tool: name, Title: name + " (run by the model's provider)",
		Labels: []string{tool.LabelUntrustedContent, tool.LabelEgress}})
	r.config.Emit.Emit(place, packet.ToolArgs{CallID: id, Arguments: arguments})
	outcome := packet.OutcomeOK
	if failed {
		outcome = packet.OutcomeError
		r.config.Emit.Emit(place, packet.ToolError{CallID: id, Kind: packet.ToolErrorKind(tool.FailureFailed),
			Message: "The provider could not do what it was asked."})
	}
	r.config.Emit.Emit(place, packet.SectionEnd{Outcome: outcome})
}
