package engine

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/bulkhead-host/bulkhead/runtime/meter"
)

// cacheVersion is part of a folder's name. It changes when the same module would be
// checked, rewritten or compiled differently, or an entry be written differently. (wazero
// adds its own version below.)
const cacheVersion = "v3-" + meter.Version

// entryName is the file that holds a module's entry.
const entryName = "module"

// cache keeps on disk what a load needs: a folder per module, named by the hash of its
// original code, with the entry and the compiled code, and a checksum over all of it.
// A folder is made under another name and appears as a whole, so that several processes
// can use the cache at once. Damage shows before any of it is used: the compiler reads
// lengths from its files before it checks anything, and a damaged length would take all
// memory.
type cache struct {
	dir string
	// max is how many bytes are kept; less than 0 means any number.
	max int64
	now func() time.Time
}

// openCache makes the folder, private to this user.
func openCache(dir string, max int64, now func() time.Time) (*cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, err
	}
	return &cache{dir, max, now}, nil
}

// folder returns the folder of the module with this key.
func (c *cache) folder(of key) string {
	return filepath.Join(c.dir, cacheVersion+"-"+hex.EncodeToString(of[:]))
}

// find returns a module's folder and entry if they are there and intact. What is damaged is
// deleted.
func (c *cache) find(of key) (folder string, e *entry, ok bool) {
	folder = c.folder(of)
	data, err := verify(folder)
	if err == nil {
		e, err = decodeEntry(data)
	}
	if err != nil {
		c.remove(folder)
		return folder, nil, false
	}
	// The time of the checksum's file is when the module was used last. Without it the
	// module only counts as older.
	now := c.now()
	_ = os.Chtimes(filepath.Join(folder, sumName), now, now)
	return folder, e, true
}

// remove deletes a folder that is of no use. If that fails, the next load finds the same and
// tries again.
func (c *cache) remove(folder string) { _ = os.RemoveAll(folder) }

// begin makes a folder under a name of its own, to compile into.
func (c *cache) begin() (folder string, err error) { return os.MkdirTemp(c.dir, unfinished+"*") }

// finish puts the entry to the compiled code in a folder that begin made, seals it, gives it
// its name, and makes room for it. If another process was faster, its folder stays.
func (c *cache) finish(folder string, of key, e *entry) error {
	data, err := e.encode()
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(folder, entryName), data); err != nil {
		return err
	}
	if err := c.seal(folder); err != nil {
		return err
	}
	final := c.folder(of)
	if err := os.Rename(folder, final); err != nil {
		if err := c.giveWay(folder, final); err != nil {
			return err
		}
	}
	return c.prune(final)
}

// giveWay is for a name that is taken: by the same module from another process, which
// stays, or by a folder without a checksum, which goes.
func (c *cache) giveWay(folder, final string) error {
	if _, err := os.Stat(filepath.Join(final, sumName)); err == nil {
		return os.RemoveAll(folder)
	}
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	return os.Rename(folder, final)
}

// seal writes the checksum over what is in the folder now.
func (c *cache) seal(folder string) error {
	sum, _, err := folderSum(folder)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, sumName)
	if err := writeFile(path, []byte(sum)); err != nil {
		return err
	}
	now := c.now()
	return os.Chtimes(path, now, now)
}

// code returns the compilation cache in a folder.
func (c *cache) code(folder string) (wazero.CompilationCache, error) {
	return wazero.NewCompilationCacheWithDir(folder)
}

// writeFile replaces a file at once, readable by this user only.
func writeFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
