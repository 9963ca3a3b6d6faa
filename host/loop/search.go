package loop

import (
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// mayServe tells whether the model's provider may run a tool of its own in the next
// step.
func (l *runner) mayServe() bool {
	return l.Model.Info().NativeSearch && !l.NoServerTools && !l.searchWithdrawn()
}

// searchWithdrawn tells whether the model may no longer use its provider's own
// search: once private data and what strangers wrote have met in a conversation,
// words of the one may be steered out by the other, and nothing asks before a
// provider searches. The person is told once.
func (l *runner) searchWithdrawn() bool {
	if !l.Model.Info().NativeSearch || l.NoServerTools {
		return false
	}
	if !l.taint.has(tool.LabelPrivateData) || !l.taint.has(tool.LabelUntrustedContent) {
		return false
	}
	if !l.toldWithdrawn {
		l.toldWithdrawn = true
		l.notice(packet.CodeToolUnavailable, "The web search of the model's provider is off from here on: "+
			"private data and text of strangers have met in this conversation.")
	}
	return true
}
