package hostfunc

import (
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// Attachment is what host functions need of the tool call that they serve, beyond what the
// gate knows of it. It is given to gate.Gate.Open.
type Attachment struct {
	// Report takes what the call shows, nil where nobody watches.
	Report tool.Reporter
	// Carries returns the labels of what the call may store at this moment, nil where nobody
	// keeps track.
	Carries func() ([]string, error)
}

// attached returns what was attached to the tool call of a host call.
func attached(c gate.Request) Attachment {
	a, _ := c.Attachment.(Attachment) // the zero value where nothing was
	return a
}

// carried returns the labels of what the call may store now.
func (a Attachment) carried() ([]string, error) {
	if a.Carries == nil {
		return nil, nil
	}
	return a.Carries()
}
