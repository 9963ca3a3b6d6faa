package rest

import (
	"context"

	"github.com/bulkhead-host/bulkhead/host/api/ask"
	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

// Turns starts, stops and reads runs; turn.Service is the one that serves.
type Turns interface {
	ask.Turns
	Running
	// Messages returns a conversation's tree with what its answers say.
	Messages(ctx context.Context, p identity.Principal, session string) ([]turn.Message, error)
}

// Running are the runs that are going on, and their packets.
type Running interface {
	Stop(ctx context.Context, p identity.Principal, run string, model *int) error
	// StopAll ends the live runs of a user and waits until what they made is kept.
	StopAll(ctx context.Context, p identity.Principal, user string) error
	// Open returns a cursor over the run's packets after the given seq of the
	// given epoch, live or stored.
	Open(ctx context.Context, p identity.Principal, run string, epoch, after int64) (*turn.Cursor, error)
	// Wait returns when the run's outcome is kept, at once where it is already.
	Wait(ctx context.Context, p identity.Principal, run string) error
	// Live returns the session's live runs and its newest run.
	Live(ctx context.Context, p identity.Principal, session string) ([]turn.LiveRun, string, error)
}

// Knowledge holds documents; knowledge.Base is the one that serves.
type Knowledge interface {
	Documents
	// Reindex drops what the index holds of documents that are gone.
	Reindex(ctx context.Context, p identity.Principal) (knowledge.Reindexed, error)
	Search(ctx context.Context, p identity.Principal, q knowledge.Query) ([]knowledge.Hit, error)
}

// Documents are what people have added.
type Documents interface {
	Add(ctx context.Context, p identity.Principal, src knowledge.Source) (knowledge.Added, error)
	List(ctx context.Context, p identity.Principal) ([]knowledge.Document, error)
	Get(ctx context.Context, p identity.Principal, id string) (knowledge.Document, error)
	Remove(ctx context.Context, p identity.Principal, id string) error
	Read(ctx context.Context, p identity.Principal, id string, offset, limit int) (text string, total int, err error)
}

// Models are the models that a person can pick; catalog.Catalog is the one that
// serves.
type Models interface {
	// List describes them in the order in which they are shown.
	List() []llm.Info
	// Default is the name of the model that answers where none is picked.
	Default() string
}

// ModelCatalog is Models that an operator can change while the host runs. The
// errors are those of package catalog.
type ModelCatalog interface {
	Models
	ModelChanges
	Get(name string) (llm.Model, error)
	// Entries is List with where each model comes from.
	Entries(p identity.Principal) ([]catalog.Entry, error)
	// Looks tells whether Refresh looks for model servers on this machine.
	Looks() bool
	Refresh(ctx context.Context, p identity.Principal) error
	// Offers lists what a server says it has.
	Offers(ctx context.Context, p identity.Principal, m config.Model) ([]string, error)
}

// ModelChanges are what an operator does to the models that there are.
type ModelChanges interface {
	// Draft makes a model that is not kept.
	Draft(p identity.Principal, m config.Model) (llm.Model, error)
	Add(p identity.Principal, m config.Model) error
	Remove(p identity.Principal, name string) error
	Choose(p identity.Principal, name string) error
}
