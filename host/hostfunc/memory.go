package hostfunc

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// Memories is what plugins reach of what is remembered about a person. An error that the
// guest is to read is a *gate.Error.
type Memories interface {
	List(ctx context.Context, p identity.Principal) ([]store.Memory, error)
	Add(ctx context.Context, p identity.Principal, record store.Memory) (m store.Memory, added bool, err error)
	Update(ctx context.Context, p identity.Principal, id, text, plugin string, labels []string) (store.Memory, error)
	Delete(ctx context.Context, p identity.Principal, id string) (store.Memory, error)
}

// Sessions tells whether a conversation is private.
type Sessions interface {
	Get(ctx context.Context, p identity.Principal, id string) (store.Session, error)
}

// memoryPart serves the capability memory.
func memoryPart(s Services) part {
	m := memory{s.Memories, s.Sessions, s.MemoryChanged}
	return part{capability: capability.Memory, brings: m.brings, functions: []gate.Function{
		gate.Typed[memoryListArgs]{
			Name: "memory_list", Capability: capability.Memory, Handle: m.list,
			Summary: func(memoryListArgs) string { return "read what is remembered" },
			Admit: func(ctx context.Context, c gate.Request, _ memoryListArgs) error {
				return m.admit(ctx, c, "read")
			},
		}.Function(),
		gate.Typed[memoryApplyArgs]{
			Name: "memory_apply", Capability: capability.Memory, Handle: m.apply, Summary: memoryApplyArgs.summary,
			Admit: func(ctx context.Context, c gate.Request, _ memoryApplyArgs) error {
				return m.admit(ctx, c, "write")
			},
		}.Function(),
	}}
}

// memory has what is remembered about people.
type memory struct {
	records  Memories
	sessions Sessions
	changed  func(userID, memoryID, change string)
}

type memoryListArgs struct{}

type memoryApplyArgs struct {
	// Operation is add, update or delete.
	Operation string `json:"operation"`
	ID        string `json:"id"`
	Text      string `json:"text"`
}

// memoryView is a memory as a guest sees it.
type memoryView struct {
	ID        string `json:"id"`
	Text      string `json:"text"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

func viewMemory(m store.Memory) memoryView {
	return memoryView{m.ID, m.Text, m.CreatedAt.Format(time.RFC3339), m.UpdatedAt.Format(time.RFC3339)}
}

// The operations of memory_apply, and what an event calls them.
var memoryChanges = map[string]string{"add": "created", "update": "updated", "delete": "removed"}

func (a memoryApplyArgs) summary() string {
	switch a.Operation {
	case "add":
		return "remember “" + audit.Shorten(a.Text, 80) + "”"
	case "update":
		return "change a memory to “" + audit.Shorten(a.Text, 80) + "”"
	}
	return "delete a memory"
}

// admit lets nothing through in a private conversation, whatever is granted.
func (m memory) admit(ctx context.Context, c gate.Request, access string) error {
	params, ok := c.Right.Params.(*capability.MemoryParams)
	if !ok || !params.Can(access) {
		return gate.Errorf(gate.Denied, "The capability memory was granted without %s.", access)
	}
	if m.sessions == nil || c.Session == "" {
		return nil
	}
	session, err := m.sessions.Get(ctx, identity.ForUser(c.User, "read and write memories for a tool"), c.Session)
	if err == nil && session.Private {
		return gate.Errorf(gate.Denied, "This conversation is private: "+
			"nothing is remembered in it, and nothing that was remembered is used.")
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

var errNoMemory = gate.Errorf(gate.Unavailable, "This host remembers nothing.")

func (m memory) list(ctx context.Context, c gate.Request, _ memoryListArgs) (any, error) {
	if m.records == nil {
		return nil, errNoMemory
	}
	list, err := m.records.List(ctx, identity.ForUser(c.User, "read and write memories for a tool"))
	if len(list) == 0 && err != nil {
		return nil, err // a record that cannot be read does not keep the others back
	}
	views := make([]memoryView, len(list))
	for i, one := range list {
		views[i] = viewMemory(one)
	}
	return map[string]any{"memories": views}, nil
}

func (m memory) apply(ctx context.Context, c gate.Request, a memoryApplyArgs) (any, error) {
	if m.records == nil {
		return nil, errNoMemory
	}
	labels, err := attached(c).carried()
	if err != nil {
		return nil, err
	}
	// Every memory counts as private where it is read, so that is not kept with one.
	labels = slices.DeleteFunc(labels, func(l string) bool { return l == capability.LabelPrivateData })
	p := identity.ForUser(c.User, "read and write memories for a tool")
	var done store.Memory
	changed := true
	switch a.Operation {
	case "add":
		added := store.Memory{Text: a.Text, Plugin: c.Plugin, Session: c.Session, Labels: labels}
		done, changed, err = m.records.Add(ctx, p, added)
	case "update":
		done, err = m.records.Update(ctx, p, a.ID, a.Text, c.Plugin, labels)
	case "delete":
		done, err = m.records.Delete(ctx, p, a.ID)
	default:
		return nil, gate.Errorf(gate.Invalid, "operation is add, update or delete.")
	}
	if err != nil {
		return nil, memoryError(err)
	}
	if changed {
		m.tell(c, a.Operation, done)
	}
	return map[string]any{"memory": viewMemory(done), "changed": changed}, nil
}

// tell shows the change in the run and to the person's other clients.
func (m memory) tell(c gate.Request, operation string, done store.Memory) {
	if report, ok := attached(c).Report.(tool.MemoryReporter); ok {
		report.Memory(operation, done.ID, done.Text)
	}
	if m.changed != nil {
		m.changed(c.User, done.ID, memoryChanges[operation])
	}
}

// brings are the labels of the memories that a plugin may read.
func (m memory) brings(ctx context.Context, o owner, right capability.Right) ([]string, error) {
	params, ok := right.Params.(*capability.MemoryParams)
	if !ok || right.Mode == capability.Deny || !params.Can("read") || m.records == nil {
		return nil, nil
	}
	// A record that cannot be read is no text that a plugin could read.
	memories, _ := m.records.List(ctx, identity.ForUser(o.user, "see what a tool may carry out"))
	var all []string
	for _, one := range memories {
		all = append(all, one.Labels...)
	}
	return all, nil
}

func memoryError(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return gate.Errorf(gate.NotFound, "There is no such memory.")
	case errors.Is(err, store.ErrFull):
		return gate.Errorf(gate.Quota,
			"There are %d memories already, which is all that are kept; delete some first.", store.MaxMemories)
	case errors.Is(err, store.ErrInvalid):
		return gate.Errorf(gate.Invalid, "A memory is a text of 1 to %d characters.", store.MaxMemoryRunes)
	}
	return err
}
