package turn

import (
	"context"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// Records are the records that runs begin with and end in. All are of one store, so that
// they share its transactions.
type Records struct {
	Agents   Agents
	Files    Files
	Memories Memories
	Messages Messages
	Runs     Runs
	CutOff   CutOff
	Sessions Sessions
}

// RecordsOf returns those of a store.
func RecordsOf(s *store.Store) Records {
	return Records{Agents: s.Agents(), Files: s.Files(), Memories: s.Memories(), Messages: s.Messages(),
		Runs: s.Runs(), CutOff: s.Runs(), Sessions: s.Sessions()}
}

// What a run needs of each kind of record. The errors are those of package store.
type (
	// Agents are the named agents.
	Agents interface {
		Get(ctx context.Context, p identity.Principal, id string) (store.Agent, error)
	}
	// Files are what people attached.
	Files interface {
		Get(ctx context.Context, p identity.Principal, id string) (store.File, error)
		Text(ctx context.Context, p identity.Principal, id string) ([]byte, error)
		Picture(ctx context.Context, p identity.Principal, id string) ([]byte, error)
	}
	// Memories are what is remembered about people.
	Memories interface {
		List(ctx context.Context, p identity.Principal) ([]store.Memory, error)
	}
	// Messages are the trees of conversations.
	Messages interface {
		Get(ctx context.Context, p identity.Principal, id string) (store.Message, error)
		List(ctx context.Context, p identity.Principal, sessionID string) ([]store.Message, error)
		Branch(ctx context.Context, p identity.Principal, sessionID, leafMessageID string) ([]store.Message, error)
	}
	// Runs begin in one transaction with what they begin with, and end in one with what
	// they said.
	Runs interface {
		Begin(ctx context.Context, p identity.Principal, in store.BeginRun) (store.Begun, error)
		Repeated(ctx context.Context, p identity.Principal, in store.BeginRun) (out store.Begun, found bool, err error)
		Get(ctx context.Context, p identity.Principal, id string) (store.Run, error)
		Latest(ctx context.Context, p identity.Principal, sessionID string) (store.Run, error)
		Finish(ctx context.Context, id string, f store.Finish) error
	}
	// CutOff are the runs that a crash cut off.
	CutOff interface {
		Unfinished(ctx context.Context, p identity.Principal) ([]store.Run, error)
	}
	// Sessions are the conversations.
	Sessions interface {
		Get(ctx context.Context, p identity.Principal, id string) (store.Session, error)
		SelectLeaf(ctx context.Context, p identity.Principal, sessionID, messageID string) (store.Session, error)
	}
)
