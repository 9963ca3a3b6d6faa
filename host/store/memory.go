package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

const (
	// MaxMemoryRunes is the greatest length of a memory, in code points.
	MaxMemoryRunes = 2000
	// MaxMemories is how many memories one person has at most.
	MaxMemories = 1000
)

// Memory is something that is remembered about its owner, in one sentence or
// a few.
type Memory struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	// Text is 1 to MaxMemoryRunes code points of UTF-8 without surrounding space.
	Text string `json:"text"`
	// Plugin is the plugin that wrote the text last, "" for the person.
	Plugin string `json:"plugin,omitempty"`
	// Session is the conversation in which it was written, "" for none.
	Session string `json:"session,omitempty"`
	// Labels are those of what the text may hold, beyond private_data: none where a person
	// wrote it.
	Labels    []string  `json:"labels,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// List returns the principal's memories, the last updated first. Records
// that cannot be read are left out and named in the error.
func (s Memories) List(ctx context.Context, p identity.Principal) ([]Memory, error) {
	var memories []Memory
	var bad error
	err := s.view(ctx, func(tx kv.Tx) error {
		if err := may(p, identity.ListMemories, identity.MemoryKind.All()); err != nil {
			return err
		}
		memories, bad = memoriesOf(tx, p)
		return nil
	})
	return memories, errors.Join(bad, err)
}

func memoriesOf(tx kv.Tx, p identity.Principal) ([]Memory, error) {
	var memories []Memory
	var bad []error
	for _, id := range table.OwnerMemories.Tails(tx, p.UserID()+"/") {
		m, err := ownMemory(tx, p, identity.ReadMemory, id)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		memories = append(memories, m)
	}
	slices.SortFunc(memories, func(a, b Memory) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
	})
	return memories, errors.Join(bad...)
}

func ownMemory(tx kv.Tx, p identity.Principal, a identity.Action, id string) (Memory, error) {
	return own[Memory](tx, table.Memories, p, a, id)
}
