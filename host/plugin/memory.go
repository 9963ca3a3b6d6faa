package plugin

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

// Memories is what plugins reach of what is remembered about a person.
type Memories interface {
	Memories(ctx context.Context, p identity.Principal) ([]store.Memory, error)
	AddMemory(ctx context.Context, p identity.Principal, record store.Memory) (m store.Memory, added bool, err error)
	UpdateMemory(ctx context.Context, p identity.Principal, id, text, plugin string, labels []string) (store.Memory, error)
	DeleteMemory(ctx context.Context, p identity.Principal, id string) (store.Memory, error)
	// Session tells whether a conversation is private.
	Session(ctx context.Context, p identity.Principal, id string) (store.Session, error)
}

// memory serves the capability memory.
type memory struct {
	store   Memories
	changed func(userID, memoryID, change string)
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

func (m memory) functions() []gate.Function {
	list := gate.Typed("memory_list", capability.Memory, func(memoryListArgs) string { return "read what is remembered" }, m.list)
	list.Admit = gate.TypedAdmit(func(ctx context.Context, c *gate.Call, _ memoryListArgs) error { return m.admit(ctx, c, "read") })
	apply := gate.Typed("memory_apply", capability.Memory, memoryApplyArgs.summary, m.apply)
	apply.Admit = gate.TypedAdmit(func(ctx context.Context, c *gate.Call, _ memoryApplyArgs) error { return m.admit(ctx, c, "write") })
	return []gate.Function{list, apply}
}

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
func (m memory) admit(ctx context.Context, c *gate.Call, access string) error {
	params, ok := gate.Right(ctx).Params.(*capability.MemoryParams)
	if !ok || !params.Can(access) {
		return gate.Errorf(gate.Denied, "The capability memory was granted without %s.", access)
	}
	if m.store == nil || c.Session == "" {
		return nil
	}
	session, err := m.store.Session(ctx, identity.ForUser(c.User, "read and write memories for a tool"), c.Session)
	if err == nil && session.Private {
		return gate.Errorf(gate.Denied, "This conversation is private: nothing is remembered in it, and nothing that was remembered is used.")
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

var errNoMemory = gate.Errorf(gate.Unavailable, "This host remembers nothing.")

func (m memory) list(ctx context.Context, c *gate.Call, _ memoryListArgs) (any, error) {
	if m.store == nil {
		return nil, errNoMemory
	}
	list, err := m.store.Memories(ctx, identity.ForUser(c.User, "read and write memories for a tool"))
	if len(list) == 0 && err != nil {
		return nil, err // a record that cannot be read does not keep the others back
	}
	views := make([]memoryView, len(list))
	for i, one := range list {
		views[i] = viewMemory(one)
	}
	return map[string]any{"memories": views}, nil
}

func (m memory) apply(ctx context.Context, c *gate.Call, a memoryApplyArgs) (any, error) {
	if m.store == nil {
		return nil, errNoMemory
	}
	labels, err := carried(ctx)
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
		done, changed, err = m.store.AddMemory(ctx, p, store.Memory{Text: a.Text, Plugin: c.Plugin, Session: c.Session, Labels: labels})
	case "update":
		done, err = m.store.UpdateMemory(ctx, p, a.ID, a.Text, c.Plugin, labels)
	case "delete":
		done, err = m.store.DeleteMemory(ctx, p, a.ID)
	default:
		return nil, gate.Errorf(gate.Invalid, "operation is add, update or delete.")
	}
	if err != nil {
		return nil, memoryError(err)
	}
	if changed {
		m.tell(ctx, c, a.Operation, done)
	}
	return map[string]any{"memory": viewMemory(done), "changed": changed}, nil
}

// tell shows the change in the run and to the person's other clients.
func (m memory) tell(ctx context.Context, c *gate.Call, operation string, done store.Memory) {
	if report, ok := ctx.Value(reporterKey{}).(tool.MemoryReporter); ok {
		report.Memory(operation, done.ID, done.Text)
	}
	if m.changed != nil {
		m.changed(c.User, done.ID, memoryChanges[operation])
	}
}

func memoryError(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return gate.Errorf(gate.NotFound, "There is no such memory.")
	case errors.Is(err, store.ErrFull):
		return gate.Errorf(gate.Quota, "There are %d memories already, which is all that are kept; delete some first.", store.MaxMemories)
	case errors.Is(err, store.ErrInvalid):
		return gate.Errorf(gate.Invalid, "A memory is a text of 1 to %d characters.", store.MaxMemoryRunes)
	}
	return err
}
