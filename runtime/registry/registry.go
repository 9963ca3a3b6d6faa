// Package registry keeps what is installed: a record for each plugin, in the
// storage that it is given, and the module's bytes as a file named by their hash.
//
// Records and module bytes come in and go out; bytes are checked against their
// hash when they are read. It must not know what a manifest says, who granted what,
// or how a module is run.
package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// Tx is what the registry does inside one transaction of its own key space.
type Tx = interface {
	Get(key string) ([]byte, bool)
	Put(key string, value []byte) error
	Delete(key string) error
	// Scan visits keys with the prefix in byte order until visit returns false.
	Scan(prefix string, visit func(key string, value []byte) bool) error
}

// Storage is the key space that records live in.
type Storage interface {
	View(func(Tx) error) error
	Update(func(Tx) error) error
}

// Record is one installed plugin.
type Record struct {
	// Name is the plugin's name: [a-z][a-z0-9_]{0,62}.
	Name    string `json:"name"`
	Version string `json:"version"`
	// SHA256 is the hash of the module's bytes, in hex. Install sets it.
	SHA256 string `json:"sha256"`
	// Manifest is the manifest that is in force, as JSON.
	Manifest json.RawMessage `json:"manifest,omitempty"`
	// Tools is the list of tools that the module gave when it was installed, as far as
	// nothing else was accepted since.
	Tools json.RawMessage `json:"tools,omitempty"`
	// Listed is the list that the module gave last, empty if that is Tools.
	Listed  json.RawMessage `json:"listed,omitempty"`
	Enabled bool            `json:"enabled"`
	// InstalledAt is when this version was installed.
	InstalledAt time.Time `json:"installed_at"`
	// Builtin is true for a plugin that came with the host.
	Builtin bool `json:"builtin"`
}

// ErrNotFound is returned when no plugin of that name is installed.
var ErrNotFound = errors.New("no such plugin is installed")

// ErrBadName is returned when a name is not [a-z][a-z0-9_]{0,62}.
var ErrBadName = errors.New("a plugin's name has 1 to 63 of a-z, 0-9 and _, and begins with a letter")

// CorruptError is returned when a stored module is not what was installed: its file
// is missing or its bytes changed.
type CorruptError struct {
	Name string
	// Want is the hash that was installed; Got is that of the file, "" without one.
	Want, Got string
}

// Error implements error.
func (e *CorruptError) Error() string {
	what := "was changed or damaged"
	if e.Got == "" {
		what = "is missing"
	}
	return fmt.Sprintf("The module file of plugin %q %s; install the plugin again.", e.Name, what)
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

const keyPrefix = "plugin/"

// Registry keeps installed plugins. It is safe for concurrent use within one
// process.
type Registry struct {
	storage Storage
	dir     string
	// mu keeps a module's file from being removed while it is installed again.
	mu sync.RWMutex
}

// Open returns the registry over storage with its files in dir, which is created
// with mode 0700.
func Open(storage Storage, dir string) (*Registry, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the plugin folder: %w", err)
	}
	return &Registry{storage: storage, dir: dir}, nil
}

// Install stores a module and its record, in place of the plugin of that name if
// there is one. The file is whole on disk before the record names it. It returns
// the record as stored; ErrBadName for a bad name.
func (r *Registry) Install(ctx context.Context, record Record, wasm []byte) (Record, error) {
	if !validName.MatchString(record.Name) {
		return Record{}, fmt.Errorf("install plugin %q: %w", record.Name, ErrBadName)
	}
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	sum := sha256.Sum256(wasm)
	record.SHA256 = hex.EncodeToString(sum[:])
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.writeModule(record.SHA256, wasm); err != nil {
		return Record{}, fmt.Errorf("install plugin %q: %w", record.Name, err)
	}
	var before string
	err := r.storage.Update(func(tx Tx) error {
		if old, err := load(tx, record.Name); err == nil {
			before = old.SHA256
		}
		return save(tx, record)
	})
	if err != nil {
		return Record{}, fmt.Errorf("install plugin %q: %w", record.Name, err)
	}
	if err := r.dropUnused(before); err != nil {
		return Record{}, fmt.Errorf("remove the old module of plugin %q: %w", record.Name, err)
	}
	return record, nil
}

// List returns all records, sorted by name.
func (r *Registry) List(ctx context.Context) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []Record
	err := r.storage.View(func(tx Tx) error {
		var bad error
		err := tx.Scan(keyPrefix, func(key string, value []byte) bool {
			var record Record
			if bad = json.Unmarshal(value, &record); bad != nil {
				bad = fmt.Errorf("read the record of plugin %q: %w", key[len(keyPrefix):], bad)
				return false
			}
			out = append(out, record)
			return true
		})
		return errors.Join(err, bad)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Get returns the record of a plugin, or ErrNotFound.
func (r *Registry) Get(ctx context.Context, name string) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	var record Record
	err := r.storage.View(func(tx Tx) (err error) {
		record, err = load(tx, name)
		return err
	})
	return record, err
}

// Open returns the record and the module's bytes, checked against the hash. It
// returns ErrNotFound, or a *CorruptError when the file is not what was installed.
func (r *Registry) Open(ctx context.Context, name string) (Record, []byte, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	record, err := r.Get(ctx, name)
	if err != nil {
		return Record{}, nil, err
	}
	wasm, err := os.ReadFile(r.path(record.SHA256))
	if errors.Is(err, fs.ErrNotExist) {
		return record, nil, &CorruptError{Name: name, Want: record.SHA256}
	}
	if err != nil {
		return record, nil, fmt.Errorf("open plugin %q: %w", name, err)
	}
	if got := sha256.Sum256(wasm); hex.EncodeToString(got[:]) != record.SHA256 {
		return record, nil, &CorruptError{Name: name, Want: record.SHA256, Got: hex.EncodeToString(got[:])}
	}
	return record, wasm, nil
}

// Update changes the record of a plugin in one transaction: whether it is enabled,
// its manifest, its tools. change must not keep the record. The name and the module
// stay as they are. It returns ErrNotFound, or the error of change.
func (r *Registry) Update(ctx context.Context, name string, change func(*Record) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.storage.Update(func(tx Tx) error {
		record, err := load(tx, name)
		if err != nil {
			return err
		}
		sum := record.SHA256
		if err := change(&record); err != nil {
			return err
		}
		record.Name, record.SHA256 = name, sum
		return save(tx, record)
	})
}

// Remove forgets a plugin and deletes its module's file, unless another plugin has
// the same module. It returns ErrNotFound.
func (r *Registry) Remove(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var sum string
	err := r.storage.Update(func(tx Tx) error {
		record, err := load(tx, name)
		if err != nil {
			return err
		}
		sum = record.SHA256
		return tx.Delete(keyPrefix + name)
	})
	if err != nil {
		return err
	}
	if err := r.dropUnused(sum); err != nil {
		return fmt.Errorf("remove the module of plugin %q: %w", name, err)
	}
	return nil
}

func load(tx Tx, name string) (Record, error) {
	raw, ok := tx.Get(keyPrefix + name)
	if !ok {
		return Record{}, fmt.Errorf("plugin %q: %w", name, ErrNotFound)
	}
	var record Record
	if err := json.Unmarshal(raw, &record); err != nil {
		return Record{}, fmt.Errorf("read the record of plugin %q: %w", name, err)
	}
	return record, nil
}

func save(tx Tx, record Record) error {
	raw, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("write the record of plugin %q: %w", record.Name, err)
	}
	return tx.Put(keyPrefix+record.Name, raw)
}

func (r *Registry) path(sum string) string { return filepath.Join(r.dir, sum+".wasm") }
