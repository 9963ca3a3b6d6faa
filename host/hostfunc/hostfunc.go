// Package hostfunc is what a module may ask of this host: one file for each capability, and
// the one place that wires them.
//
// The parts of the host that serve a capability come in as Services; the host functions that
// the gate decides about go out, and what this host keeps for plugins beside them: labels,
// folders, values. A function finds the right under which it runs in its gate.Request and
// the tool call that it serves in the Attachment.
//
// It must not know which plugins there are, what a module is or how one runs, nor who may
// do what: the gate has decided that before a function runs.
package hostfunc

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// Storage is a key space of its own.
type Storage = audit.Storage

// Tx is one transaction of a Storage.
type Tx = audit.Tx

// Services are the parts of the host that serve the capabilities. Each may be nil; then what
// needs it answers that it is unavailable.
type Services struct {
	// Knowledge has the documents of people.
	Knowledge Knowledge
	// Memories keeps what is remembered about people.
	Memories Memories
	// Sessions has people's conversations; nil where calls belong to none.
	Sessions Sessions
	// MemoryChanged is told of what a plugin changed: change is created, updated
	// or removed. nil to tell nobody.
	MemoryChanged func(userID, memoryID, change string)
	// Files keeps what people attached.
	Files Files
	// Runs and Messages have the runs that call plugins, and what they answer; nil where
	// calls belong to none.
	Runs     Runs
	Messages Messages
	// Models answers what plugins ask of a language model.
	Models Models
	// Storage keeps the values of kv and the labels of what plugins keep.
	Storage Storage
	// Workspaces are the folders that are kept between calls.
	Workspaces *files.Kept
	// Egress lets requests out.
	Egress *egress.Guard
	// Now is the clock, nil for time.Now.
	Now func() time.Time
}

// A part is what one file of this package gives for its capability. Fields may be nil.
type part struct {
	functions []gate.Function
	// brings returns the labels of what a plugin finds for a user that was kept, as far as
	// the right lets it read that.
	brings func(ctx context.Context, o owner, right capability.Right) ([]string, error)
	// capability is the one whose right brings wants.
	capability string
	// forget deletes what is kept for a user.
	forget func(ctx context.Context, user string) error
}

// owner says whose something is that is kept.
type owner struct{ plugin, user string }

// parts has a line for each capability that this host serves by functions, or keeps
// something for.
func parts(s Services, m *marks) []part {
	return []part{
		httpPart(s), kvPart(s, m), knowledgePart(s), memoryPart(s), filesPart(s), modelPart(s), emitPart(),
		workspacePart(s, m),
	}
}

// Host is what modules may ask of this host. It is safe for concurrent use.
type Host struct {
	services Services
	marks    *marks
	parts    []part
}

// New wires all capabilities.
func New(s Services) *Host {
	if s.Now == nil {
		s.Now = time.Now
	}
	m := &marks{s.Storage}
	return &Host{services: s, marks: m, parts: parts(s, m)}
}

// Functions returns the host functions of all capabilities, for a gate. What they count, as
// requests a minute or tokens of an answer, is counted once for all gates.
func (h *Host) Functions() []gate.Function {
	var list []gate.Function
	for _, p := range h.parts {
		list = append(list, p.functions...)
	}
	return list
}

// Brought returns the labels of what a plugin finds for a user that was kept: in its folder,
// in its values of kv, and in memories, as far as it may read each.
func (h *Host) Brought(ctx context.Context, plugin, user string, rights capability.Rights) ([]string, error) {
	var all []string
	for _, p := range h.parts {
		if p.brings == nil {
			continue
		}
		labels, err := p.brings(ctx, owner{plugin, user}, rights.Of(p.capability))
		if err != nil {
			return nil, err
		}
		all = append(all, labels...)
	}
	return all, nil
}

// Forget deletes what plugins keep for a user: values of kv, kept folders and the labels of
// both. It waits for calls that have such a folder.
func (h *Host) Forget(ctx context.Context, user string) error {
	var errs []error
	for _, p := range h.parts {
		if p.forget != nil {
			errs = append(errs, p.forget(ctx, user))
		}
	}
	return errors.Join(errs...)
}

// LocalModels tells whether every model of names runs on this machine; nil stands for all
// models that there are. The function itself is nil where this host has none.
func (h *Host) LocalModels() func(names []string) bool {
	if h.services.Models == nil {
		return nil
	}
	return h.services.Models.Local
}
