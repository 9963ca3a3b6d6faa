// Package audittest holds a Storage in memory for tests of what records. It
// keeps the promise of a transaction (an error changes nothing) and knows
// nothing of entries.
package audittest

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bulkhead-host/bulkhead/sandbox/audit"
)

// Space is a key space in memory. The zero value is empty and ready. It is safe
// for concurrent use.
type Space struct {
	mu   sync.Mutex
	keys map[string][]byte
	// Fail, when not nil, is what Update returns without running its function.
	Fail error
}

// View runs f on a copy.
func (s *Space) View(f func(audit.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(&tx{maps.Clone(s.keys)})
}

// Update runs f and keeps what it did when it returns nil.
func (s *Space) Update(f func(audit.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fail != nil {
		return s.Fail
	}
	t := &tx{maps.Clone(s.keys)}
	if err := f(t); err != nil {
		return err
	}
	s.keys = t.keys
	return nil
}

type tx struct{ keys map[string][]byte }

func (t *tx) Get(key string) ([]byte, bool) {
	v, ok := t.keys[key]
	return bytes.Clone(v), ok
}

func (t *tx) Put(key string, value []byte) error {
	if t.keys == nil {
		t.keys = map[string][]byte{}
	}
	t.keys[key] = bytes.Clone(value)
	return nil
}

func (t *tx) Delete(key string) error {
	delete(t.keys, key)
	return nil
}

func (t *tx) Scan(prefix string, visit func(key string, value []byte) bool) error {
	for _, k := range slices.Sorted(maps.Keys(t.keys)) {
		if strings.HasPrefix(k, prefix) && !visit(k, bytes.Clone(t.keys[k])) {
			return nil
		}
	}
	return nil
}
