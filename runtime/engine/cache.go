package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/bulkhead-host/bulkhead/runtime/meter"
)

// cacheVersion is part of a folder's name. It changes when the same module's code
// would be compiled differently. (wazero adds its own version below.)
const cacheVersion = "v1-" + meter.Version

// sumName is the file that holds the checksum of a module's folder.
const sumName = "sum"

// cache keeps compiled code on disk: a folder per module, so that a damaged one is
// deleted without the others, with a checksum over all of it. The compiler reads
// lengths from these files before it checks anything; a damaged length would take
// all memory.
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

// folder returns the folder of the module with these (hardened) bytes.
func (c *cache) folder(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return filepath.Join(c.dir, cacheVersion+"-"+hex.EncodeToString(sum[:]))
}

// open returns the compilation cache of one module, and whether its code is there.
// What is damaged or unfinished is deleted before.
func (c *cache) open(folder string) (code wazero.CompilationCache, hit bool, err error) {
	hit = intact(folder)
	if !hit {
		if err := os.RemoveAll(folder); err != nil {
			return nil, false, err
		}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, false, err
	}
	if hit {
		// The time of the checksum's file is when the module was used last. Without it
		// the module only counts as older.
		now := c.now()
		_ = os.Chtimes(filepath.Join(folder, sumName), now, now)
	}
	code, err = wazero.NewCompilationCacheWithDir(folder)
	return code, hit, err
}

// seal writes the checksum over what is in the folder now, and makes room for it.
func (c *cache) seal(folder string) error {
	sum, err := folderSum(folder)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, sumName)
	if err := writeFile(path, []byte(sum)); err != nil {
		return err
	}
	now := c.now()
	return errors.Join(os.Chtimes(path, now, now), c.prune(folder))
}

// intact reports whether the folder has the content that it was sealed with.
func intact(folder string) bool {
	want, err := os.ReadFile(filepath.Join(folder, sumName))
	if err != nil {
		return false
	}
	got, err := folderSum(folder)
	return err == nil && got == string(want)
}

// folderSum returns a checksum over the names and the contents of a folder's files.
func folderSum(folder string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(folder, sumName) {
			return err
		}
		if !d.Type().IsRegular() {
			return errors.New("the cache holds something that is not a file")
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		inner := sha256.New()
		if _, err := io.Copy(inner, f); err != nil {
			return err
		}
		fmt.Fprintf(sum, "%x %q\n", inner.Sum(nil), path[len(folder):])
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)), err
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
