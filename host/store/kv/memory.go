package kv

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Memory is the engine that keeps nothing beyond the process. Its readers wait for
// its writer.
type Memory struct {
	stop  Stop
	group *group

	// mu guards what follows: readers hold it for reading, a writer for writing.
	mu     sync.RWMutex
	tables map[Table]*memoryTable
	closed bool
}

// memoryTable is a table: keys are the keys of values, sorted.
type memoryTable struct {
	keys   []string
	values map[string][]byte
}

var _ DB = (*Memory)(nil)

// NewMemory returns an empty DB; stop is a failpoint, nil for none.
func NewMemory(stop Stop) *Memory {
	m := &Memory{stop: stop, tables: map[Table]*memoryTable{}}
	m.group = newGroup(m.write)
	return m
}

// View implements DB.
func (m *Memory) View(ctx context.Context, fn func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return ErrClosed
	}
	return guarded(func() error { return fn(&memoryTx{db: m}) })
}

// Update implements DB.
func (m *Memory) Update(ctx context.Context, fn func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.write(fn)
}

// Commit implements DB.
func (m *Memory) Commit(ctx context.Context, fn func(Tx) error) error {
	return m.group.commit(ctx, fn)
}

func (m *Memory) write(fn func(Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	tx := &memoryTx{db: m, writes: true}
	kept := false
	defer func() {
		if !kept { // also where fn ended the goroutine
			tx.undo()
		}
	}()
	err := guarded(func() error {
		if err := fn(tx); err != nil || m.stop == nil {
			return err
		}
		return m.stop(true)
	})
	if kept = err == nil; kept && m.stop != nil {
		_ = m.stop(false) // it happened already
	}
	return err
}

// Close implements DB. A second Close returns ErrClosed.
func (m *Memory) Close() error {
	if !m.group.close() {
		return ErrClosed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.tables = true, nil
	return nil
}

// memoryTx is a transaction in memory. undone takes back what it wrote, in reverse.
type memoryTx struct {
	db     *Memory
	writes bool
	undone []func()
}

func (t *memoryTx) undo() {
	for _, f := range slices.Backward(t.undone) {
		f()
	}
}

// Get implements Tx.
func (t *memoryTx) Get(table Table, key string) ([]byte, bool) {
	m := t.db.tables[table]
	if m == nil {
		return nil, false
	}
	v, ok := m.values[key]
	return v, ok
}

// Put implements Tx.
func (t *memoryTx) Put(table Table, key string, value []byte) error {
	if err := checkPut(t.writes, table, key); err != nil {
		return err
	}
	m, err := t.made(table)
	if err != nil {
		return err
	}
	if t.db.tables[Nested(table, key)] != nil {
		return ErrTaken
	}
	old, was := m.values[key]
	t.undone = append(t.undone, func() {
		if was {
			m.values[key] = old
		} else {
			m.remove(key)
		}
	})
	if !was {
		m.insert(key)
	}
	m.values[key] = append([]byte{}, value...)
	return nil
}

// made returns a table to write to.
func (t *memoryTx) made(table Table) (*memoryTable, error) {
	if m := t.db.tables[table]; m != nil {
		return m, nil
	}
	if outer, inner, nested := table.path(); nested {
		around, err := t.made(Table(outer))
		if err != nil {
			return nil, err
		}
		if _, taken := around.values[inner]; taken {
			return nil, ErrTaken
		}
	}
	m := &memoryTable{values: map[string][]byte{}}
	t.db.tables[table] = m
	t.undone = append(t.undone, func() { delete(t.db.tables, table) })
	return m, nil
}

func (m *memoryTable) insert(key string) {
	i, _ := slices.BinarySearch(m.keys, key)
	m.keys = slices.Insert(m.keys, i, key)
}

func (m *memoryTable) remove(key string) {
	if i, ok := slices.BinarySearch(m.keys, key); ok {
		m.keys = slices.Delete(m.keys, i, i+1)
		delete(m.values, key)
	}
}

// Delete implements Tx.
func (t *memoryTx) Delete(table Table, key string) error {
	if !t.writes {
		return ErrReadOnly
	}
	m := t.db.tables[table]
	if m == nil {
		return nil
	}
	old, was := m.values[key]
	if !was {
		return nil
	}
	m.remove(key)
	t.undone = append(t.undone, func() {
		m.insert(key)
		m.values[key] = old
	})
	return nil
}

// Scan implements Tx.
func (t *memoryTx) Scan(table Table, prefix string, visit func(key string, value []byte) bool) error {
	m := t.db.tables[table]
	if m == nil {
		return nil
	}
	for i, _ := slices.BinarySearch(m.keys, prefix); i < len(m.keys) && strings.HasPrefix(m.keys[i], prefix); {
		key := m.keys[i]
		if !visit(key, m.values[key]) {
			return nil
		}
		// What visit wrote may have moved the keys.
		at, found := slices.BinarySearch(m.keys, key)
		if i = at; found {
			i++
		}
	}
	return nil
}

// ScanBack implements Tx.
func (t *memoryTx) ScanBack(table Table, prefix, before string, visit func(key string, value []byte) bool) error {
	m := t.db.tables[table]
	if m == nil {
		return nil
	}
	at := len(m.keys)
	if end := endOf(prefix, before); end != nil {
		at, _ = slices.BinarySearch(m.keys, string(end))
	}
	for i := at - 1; i >= 0 && strings.HasPrefix(m.keys[i], prefix); i-- {
		if !visit(m.keys[i], m.values[m.keys[i]]) {
			return nil
		}
	}
	return nil
}

// Last implements Tx.
func (t *memoryTx) Last(table Table, prefix string) (key string, value []byte, found bool) {
	_ = t.ScanBack(table, prefix, "", func(k string, v []byte) bool { // it never fails
		key, value, found = k, v, true
		return false
	})
	return key, value, found
}

// DeleteTable implements Tx.
func (t *memoryTx) DeleteTable(table Table) error {
	if !t.writes {
		return ErrReadOnly
	}
	for name, m := range t.db.tables {
		if name == table || strings.HasPrefix(string(name), string(table)+"\x00") {
			delete(t.db.tables, name)
			t.undone = append(t.undone, func() { t.db.tables[name] = m })
		}
	}
	return nil
}

// Tables implements Tx.
func (t *memoryTx) Tables() (tables []Table) {
	for name := range t.db.tables {
		if _, _, nested := name.path(); !nested {
			tables = append(tables, name)
		}
	}
	slices.Sort(tables)
	return tables
}

// Inside implements Tx.
func (t *memoryTx) Inside(table Table) (tables []Table) {
	for name := range t.db.tables {
		if strings.HasPrefix(string(name), string(table)+"\x00") {
			tables = append(tables, name)
		}
	}
	slices.Sort(tables)
	return tables
}
