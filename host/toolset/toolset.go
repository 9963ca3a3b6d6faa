// Package toolset is the tools on offer, whoever brings them: their names, what
// becomes of names that collide, which can be used now, and how much text of them a
// model is sent.
//
// Lists of tools come in from their sources; tools with distinct names for models
// go out, and the identities that people mean by what they write. It knows the
// contract of a tool and no source, no model and no conversation.
package toolset

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

// Source is who brings tools: the plugins; MCP servers and OpenAPI descriptions can
// be others. It is safe for concurrent use.
type Source interface {
	// Entries lists all tools that there are, also those that nobody can use now: a
	// tool keeps its name while it is away.
	Entries(ctx context.Context) ([]Entry, error)
	// Tools makes those that a user can use now, each under the name for its
	// identity. One whose name is "" is left out.
	Tools(ctx context.Context, user string, name func(id string) string) ([]tool.Tool, error)
}

// Entry is a tool as its source lists it.
type Entry struct {
	// Provider is the plugin or the server that brings it, without a slash.
	Provider string
	// Name is the name that it has there.
	Name string
	// Builtin tells that it came with the host.
	Builtin bool
	// Since is when its provider was installed.
	Since time.Time
	// Held tells that nobody has seen the tool as it is now. It is dealt no name
	// before somebody has.
	Held bool
	// Unavailable is why nobody can use it now, half a sentence, "" where it can be.
	Unavailable string
}

// ID is the identity of the tool.
func (e Entry) ID() string { return tool.ID(e.Provider, e.Name) }

// Config is what a Set is made of.
type Config struct {
	Sources []Source
	// Storage keeps the names that were dealt; nothing else may write to it.
	Storage Storage
	// Kept are names that only tools which came with the host may have, because
	// something else goes by them too: the search of a model's provider.
	Kept []string
}

// Set is all tools of a host. It is safe for concurrent use.
type Set struct {
	config Config

	// mu guards the names, which are those in the storage.
	mu    sync.Mutex
	names names
}

// New returns the set of what the sources bring, with the names that were dealt before.
func New(config Config) (*Set, error) {
	dealt, err := load(config.Storage)
	if err != nil {
		return nil, fmt.Errorf("read the names of tools: %w", err)
	}
	return &Set{config: config, names: dealt}, nil
}

// Tools returns the tools that a user can use now, with distinct names.
func (s *Set) Tools(ctx context.Context, user string) ([]tool.Tool, error) {
	if _, err := s.entries(ctx); err != nil {
		return nil, err
	}
	var list []tool.Tool
	for _, source := range s.config.Sources {
		// What came since has no name yet, and is left to the next question.
		tools, err := source.Tools(ctx, user, s.nameOf)
		if err != nil {
			return nil, err
		}
		list = append(list, tools...)
	}
	return list, nil
}

// Names returns the name of each tool by its identity, of those that were dealt one.
func (s *Set) Names(ctx context.Context) (map[string]string, error) {
	if _, err := s.entries(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names.clone(), nil
}

// Meant is the tool that somebody means by a word.
type Meant struct {
	// ID is its identity, or the word itself where no tool goes by it.
	ID string
	// Name is what it is called, or the word.
	Name string
	// Unavailable is why nobody can use it now, half a sentence, "" where it can be
	// or where no tool is known.
	Unavailable string
}

// Resolve says which tools are meant by words, which are identities or names.
func (s *Set) Resolve(ctx context.Context, words []string) ([]Meant, error) {
	entries, err := s.entries(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	byName := make(map[string]string, len(s.names))
	for id, name := range s.names {
		byName[name] = id
	}
	meant := make([]Meant, len(words))
	for i, word := range words {
		meant[i] = Meant{ID: word, Name: word}
		m := &meant[i]
		switch own, isOwn := strings.CutPrefix(word, tool.HostSource+"/"); {
		case tool.Reserved(word):
			m.ID = tool.OwnID(word)
		case isOwn && tool.Reserved(own):
			m.Name = own
		case byName[word] != "":
			m.ID = byName[word]
			m.Unavailable = entries.unavailable(m.ID)
		case s.names[word] != "":
			m.Name = s.names[word]
			m.Unavailable = entries.unavailable(word)
		}
	}
	return meant, nil
}

// Forget gives up the names of what a provider brought, which was removed.
func (s *Set) Forget(provider string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix := tool.ID(provider, "")
	var gone []string
	for id := range s.names {
		if strings.HasPrefix(id, prefix) {
			gone = append(gone, id)
		}
	}
	return s.change(nil, gone)
}

func (s *Set) nameOf(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[id]
}

// list is what the sources bring.
type list []Entry

// unavailable is why a tool that has a name cannot be used.
func (l list) unavailable(id string) string {
	for _, e := range l {
		switch {
		case e.ID() != id:
		case e.Unavailable != "":
			return e.Unavailable
		case e.Held:
			return "it has changed, and nobody has looked at it since"
		default:
			return ""
		}
	}
	return "what brings it does not list it now"
}

// entries lists what the sources bring, and deals names to what has none. Names are on
// disk before anybody is told of them.
func (s *Set) entries(ctx context.Context) (list, error) {
	var all list
	for _, source := range s.config.Sources {
		entries, err := source.Entries(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Provider != tool.HostSource { // the identities of the loop's own tools are nobody else's
				all = append(all, e)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.change(s.names.deal(all, s.config.Kept)); err != nil {
		return nil, fmt.Errorf("keep the names of tools: %w", err)
	}
	return all, nil
}

// change takes names away and adds others, on disk first. The caller holds mu.
func (s *Set) change(added names, gone []string) error {
	if len(added)+len(gone) == 0 {
		return nil
	}
	if err := save(s.config.Storage, added, gone); err != nil {
		return err
	}
	s.names = s.names.changed(added, gone)
	return nil
}
