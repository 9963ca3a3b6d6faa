package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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

// Add writes a new memory of the principal's from the record's Text,
// Plugin, Session and Labels. Where one with the same text is there already, that one
// is returned and added is false. It returns ErrInvalid for a text that is
// empty, too long or not UTF-8, ErrFull when there are MaxMemories, and
// ErrNotFound when the user does not exist.
func (s Memories) Add(ctx context.Context, p identity.Principal, record Memory) (m Memory, added bool, err error) {
	if record.Text, err = memoryText(record.Text); err != nil {
		return Memory{}, false, err
	}
	err = s.update(ctx, func(tx kv.Tx) error {
		if err := known(tx, p, identity.AddMemory, identity.MemoryKind); err != nil {
			return err
		}
		there, _ := memoriesOf(tx, p) // one that cannot be read is not the same
		for _, k := range there {
			if k.Text == record.Text {
				m, added = k, false
				return nil
			}
		}
		if len(there) >= MaxMemories {
			return full("there are %d memories already, which is all that are kept", len(there))
		}
		now := s.clock()
		m, added = Memory{ID: s.newID("mem"), Owner: p.UserID(), Text: record.Text, Plugin: record.Plugin,
			Session: record.Session, Labels: record.Labels, CreatedAt: now, UpdatedAt: now}, true
		return errors.Join(
			table.Memories.Put(tx, m.ID, m),
			table.OwnerMemories.PutRaw(tx, table.Join(p.UserID(), m.ID), []byte{}))
	})
	if err != nil {
		return Memory{}, false, err
	}
	return m, added, nil
}

// memoryText returns a text as it is kept.
func memoryText(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", invalid("a memory is UTF-8 text")
	case text == "":
		return "", invalid("a memory is not empty")
	case utf8.RuneCountInString(text) > MaxMemoryRunes:
		return "", invalid("a memory has at most %d characters", MaxMemoryRunes)
	}
	return text, nil
}

// Update gives a memory another text; plugin is who wrote it, "" for the
// person, and labels are its labels. It returns ErrInvalid as AddMemory does, and
// ErrNotFound.
func (s Memories) Update(
	ctx context.Context, p identity.Principal, id, text, plugin string, labels []string,
) (Memory, error) {
	text, err := memoryText(text)
	if err != nil {
		return Memory{}, err
	}
	var m Memory
	err = s.update(ctx, func(tx kv.Tx) (err error) {
		if m, err = ownMemory(tx, p, identity.ChangeMemory, id); err != nil {
			return err
		}
		m.Text, m.Plugin, m.Labels, m.UpdatedAt = text, plugin, labels, s.clock()
		return table.Memories.Put(tx, id, m)
	})
	if err != nil {
		return Memory{}, err
	}
	return m, nil
}

// Delete deletes a memory for good and returns what it was, or
// ErrNotFound.
func (s Memories) Delete(ctx context.Context, p identity.Principal, id string) (Memory, error) {
	var m Memory
	err := s.update(ctx, func(tx kv.Tx) (err error) {
		if m, err = ownMemory(tx, p, identity.DeleteMemory, id); err != nil {
			return err
		}
		return deleteMemory(tx, m.Owner, id)
	})
	if err != nil {
		return Memory{}, err
	}
	return m, nil
}

func deleteMemory(tx kv.Tx, owner, id string) error {
	return errors.Join(table.OwnerMemories.Delete(tx, table.Join(owner, id)), table.Memories.Delete(tx, id))
}
