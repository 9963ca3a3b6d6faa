package plugin

import (
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// attachment is what host functions need of the tool call that they serve, beyond what the
// gate knows of it.
type attachment struct {
	// report takes what the call shows, nil where nobody watches.
	report tool.Reporter
	// carries returns the labels of what the call may store at this moment, nil where nobody
	// keeps track.
	carries func() ([]string, error)
}

// attached returns what was attached to the tool call of a host call.
func attached(c gate.Request) attachment {
	a, _ := c.Attachment.(attachment) // the zero value where nothing was
	return a
}

// carried returns the labels of what the call may store now.
func (a attachment) carried() ([]string, error) {
	if a.carries == nil {
		return nil, nil
	}
	return a.carries()
}
