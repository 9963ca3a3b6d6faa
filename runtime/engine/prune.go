package engine

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// folderName is what the folders of modules are called, also those of other versions of
// the engine. Nothing else in the cache is ever deleted.
var folderName = regexp.MustCompile(`^v[0-9]+-[0-9A-Za-z.]+-[0-9a-f]{64}$`)

// unfinished is how the names of folders begin that code is compiled into.
const unfinished = "new-"

// abandonedAfter is the age at which an unfinished folder belongs to a process that ended.
const abandonedAfter = time.Hour

// kept is the folder of one module in the cache.
type kept struct {
	path  string
	bytes int64
	used  time.Time
}

// prune deletes the folders of those modules that were used least recently until the rest
// is within the bound, and what processes left unfinished. The folder keep stays, whatever
// its size.
func (c *cache) prune(keep string) error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	if err := c.sweep(entries); err != nil || c.max < 0 {
		return err
	}
	var folders []kept
	var total int64
	for _, e := range entries {
		if !e.IsDir() || !folderName.MatchString(e.Name()) {
			continue
		}
		k, err := measure(filepath.Join(c.dir, e.Name()))
		if err != nil {
			return err
		}
		folders = append(folders, k)
		total += k.bytes
	}
	slices.SortFunc(folders, func(a, b kept) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, k := range folders {
		if total <= c.max {
			break
		}
		if k.path == keep {
			continue
		}
		if err := os.RemoveAll(k.path); err != nil {
			return err
		}
		total -= k.bytes
	}
	return nil
}

// sweep deletes folders that were never finished.
func (c *cache) sweep(entries []os.DirEntry) error {
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), unfinished) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			if gone(err) == nil {
				continue
			}
			return err
		}
		if c.now().Sub(info.ModTime()) < abandonedAfter {
			continue
		}
		if err := os.RemoveAll(filepath.Join(c.dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// measure returns the size of a folder and when it was used last: never, if it was not
// sealed.
func measure(path string) (kept, error) {
	k := kept{path: path}
	err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return gone(err)
		}
		info, err := d.Info()
		if err != nil {
			return gone(err)
		}
		k.bytes += info.Size()
		if file == filepath.Join(path, sumName) {
			k.used = info.ModTime()
		}
		return nil
	})
	return k, err
}

// gone drops the error of a file that another process deleted meanwhile.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
