// Package gate decides each host call of a module: is the function known, does
// the right hold now, is there quota, are the arguments well formed. Only then
// the function runs, and what was asked is on record before it does.
//
// Blocks of bytes come in from a guest, blocks of bytes go back. The functions
// themselves are handed in; the gate must not know what they do, how a module
// runs, nor who the user is beyond an id.
package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// MaxArgs is how many bytes a block of arguments may have.
const MaxArgs = 1 << 20

// MaxCalls is how many host calls one tool call may make.
const MaxCalls = 100_000

// GrantSource gives the grants of a plugin as they are now. It is asked at each
// host call, so that revoking works at once, and must be safe for concurrent use.
type GrantSource interface {
	// Grants returns all that was granted or denied to a plugin.
	Grants(ctx context.Context, plugin string) (capability.Grants, error)
	// Grant returns what was said of one capability, false where nothing was.
	Grant(ctx context.Context, plugin, capability string) (capability.Grant, bool, error)
}

// UserSource gives what a user may do at all, as it is now. It must be safe for
// concurrent use.
type UserSource interface {
	Rights(ctx context.Context, user string) (capability.UserRights, error)
}

// Question is what an Asker shows a person.
type Question struct {
	CallInfo
	Capability, Function string
	// Sentence is the ask in plain words, Summary the effect of this call.
	Sentence, Summary string
	// Args is exactly what the function will get, and Effect the hash that an
	// approval binds to.
	Args   json.RawMessage
	Effect string
}

// Asker asks a person. It returns true for yes and false for no; an error counts
// as no. It waits no longer than ctx.
type Asker interface {
	Ask(ctx context.Context, q Question) (bool, error)
}

// Config is what a gate is made of.
type Config struct {
	// Functions are the host functions that this host serves.
	Functions []Function
	// Grants is required.
	Grants GrantSource
	// Users is nil where every user has every right.
	Users UserSource
	// Audit is required; a call that cannot be recorded is denied.
	Audit audit.Recorder
	// Asker is nil where nobody can be asked: then mode ask denies.
	Asker Asker
	// Now is the clock.
	Now func() time.Time
	// Logger takes what a person must not see; nil for none.
	Logger *slog.Logger
}

// Gate is immutable and safe for concurrent use.
type Gate struct {
	functions map[string]Function
	config    Config
}

// New returns a gate. It returns an error when a function has no handler, is
// given twice or does not belong to the capability that it names.
func New(config Config) (*Gate, error) {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	g := &Gate{functions: make(map[string]Function, len(config.Functions)), config: config}
	for _, f := range config.Functions {
		if _, twice := g.functions[f.Name]; twice {
			return nil, fmt.Errorf("host function %q is given twice", f.Name)
		}
		c, known := capability.ForFunction(f.Name)
		if !known || c.Name != f.Capability || (f.read == nil) == (f.Batch == "") {
			return nil, fmt.Errorf("host function %q: it needs a handler and the capability that the catalogue gives "+
				"it, not %q",
				f.Name, f.Capability)
		}
		g.functions[f.Name] = f
	}
	for _, f := range g.functions {
		single, there := g.functions[f.Batch]
		if f.Batch != "" && (!there || single.read == nil || single.Capability != f.Capability) {
			return nil, fmt.Errorf("host function %q: there is no function %q of its capability to make a batch of",
				f.Name, f.Batch)
		}
	}
	return g, nil
}

// CallInfo tells whose tool call it is.
type CallInfo struct {
	Plugin, Version, Tool      string
	CallID, Run, Session, User string
	// Model is the name of the model that calls the tool, "" where none does.
	Model    string
	Manifest capability.Manifest
}

// Open returns the gate's side of one tool call. The caller ends it with
// Call.Close. attachment is what the functions need of the tool call beyond
// info; they know its type, the gate does not look at it.
func (g *Gate) Open(info CallInfo, attachment any) *Call {
	return &Call{CallInfo: info, Attachment: attachment, gate: g, spent: map[string]int64{}}
}

// Rights returns all that the plugin may do for the user now.
func (g *Gate) Rights(ctx context.Context, m capability.Manifest, user string) (capability.Rights, error) {
	grants, err := g.config.Grants.Grants(ctx, m.Name)
	if err != nil {
		return nil, fmt.Errorf("read the grants of %q: %w", m.Name, err)
	}
	rights, err := g.userRights(ctx, user)
	if err != nil {
		return nil, err
	}
	return capability.Effective(m, grants, rights), nil
}

// Right returns what the plugin may do with one capability for the user now.
func (g *Gate) Right(ctx context.Context, m capability.Manifest, user, name string) (capability.Right, error) {
	grants := capability.Grants{}
	grant, found, err := g.config.Grants.Grant(ctx, m.Name, name)
	if err != nil {
		return capability.Right{}, fmt.Errorf("read the grant of %s to %q: %w", name, m.Name, err)
	}
	if found {
		grants[name] = grant
	}
	rights, err := g.userRights(ctx, user)
	if err != nil {
		return capability.Right{}, err
	}
	return capability.RightTo(name, m, grants, rights), nil
}

// userRights returns what the user may do at all, nil for everything.
func (g *Gate) userRights(ctx context.Context, user string) (capability.UserRights, error) {
	if g.config.Users == nil {
		return nil, nil
	}
	rights, err := g.config.Users.Rights(ctx, user)
	if err != nil {
		return nil, fmt.Errorf("read the rights of the user: %w", err)
	}
	return rights, nil
}
