package rest

import (
	"context"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// Records are the records that clients see and change.
type Records struct {
	Agents   Agents
	Files    Files
	Contents FileContents
	Memories Memories
	Messages Messages
	Runs     Runs
	Sessions Sessions
	SignIns  SignIns
	Users    Users
}

// RecordsOf returns those of a store.
func RecordsOf(s *store.Store) Records {
	return Records{Agents: s.Agents(), Files: s.Files(), Contents: s.Files(), Memories: s.Memories(),
		Messages: s.Messages(), Runs: s.Runs(), Sessions: s.Sessions(), SignIns: s.SignIns(), Users: s.Users()}
}

// What clients may do to each kind of record. The errors are those of package store.
type (
	// Agents are the named agents.
	Agents interface {
		List(ctx context.Context, p identity.Principal) ([]store.Agent, error)
		Create(ctx context.Context, p identity.Principal, record store.Agent) (store.Agent, error)
		Change(ctx context.Context, p identity.Principal, id string, change func(*store.Agent)) (store.Agent, error)
		Delete(ctx context.Context, p identity.Principal, id string) error
	}
	// Files are what people attached.
	Files interface {
		List(ctx context.Context, p identity.Principal) ([]store.File, error)
		Get(ctx context.Context, p identity.Principal, id string) (store.File, error)
		Add(ctx context.Context, p identity.Principal, record store.File, text []byte) (store.File, error)
		AddPicture(ctx context.Context, p identity.Principal, record store.File, picture []byte) (store.File, error)
		Delete(ctx context.Context, p identity.Principal, id string) error
	}
	// FileContents are what is in them.
	FileContents interface {
		Text(ctx context.Context, p identity.Principal, id string) ([]byte, error)
		Picture(ctx context.Context, p identity.Principal, id string) ([]byte, error)
	}
	// Memories are what is remembered about people.
	Memories interface {
		List(ctx context.Context, p identity.Principal) ([]store.Memory, error)
		Add(ctx context.Context, p identity.Principal, record store.Memory) (m store.Memory, added bool, err error)
		Update(ctx context.Context, p identity.Principal, id, text, plugin string, labels []string) (store.Memory,
			error)
		Delete(ctx context.Context, p identity.Principal, id string) (store.Memory, error)
	}
	// Messages are those of conversations.
	Messages interface {
		Get(ctx context.Context, p identity.Principal, id string) (store.Message, error)
	}
	// Runs are what works, or worked, on questions.
	Runs interface {
		Get(ctx context.Context, p identity.Principal, id string) (store.Run, error)
		Live(ctx context.Context, p identity.Principal, sessionID string) (store.Run, error)
	}
	// Sessions are the conversations.
	Sessions interface {
		List(ctx context.Context, p identity.Principal, limit int, before string) ([]store.Session, error)
		Get(ctx context.Context, p identity.Principal, id string) (store.Session, error)
		Rename(ctx context.Context, p identity.Principal, id, title string) (store.Session, error)
		Pin(ctx context.Context, p identity.Principal, id string, pin bool) (store.Session, error)
		Delete(ctx context.Context, p identity.Principal, id string) error
	}
	// SignIns are what people come in with.
	SignIns interface {
		CreateLink(
			ctx context.Context, p identity.Principal, userID string, ttl time.Duration,
		) (token string, expires time.Time, err error)
		RevokeUser(ctx context.Context, p identity.Principal, user string) error
	}
	// Users are the people.
	Users interface {
		List(ctx context.Context, p identity.Principal) ([]store.User, error)
		ByName(ctx context.Context, name string) (store.User, error)
		Create(ctx context.Context, p identity.Principal, name string, operator bool) (store.User, error)
		Remove(ctx context.Context, p identity.Principal, id string) error
	}
)
