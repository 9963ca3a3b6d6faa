// Package gather finds documents on disk for the command line.
//
// In come paths of files and folders; out come, one by one and in a stable
// order, documents that the knowledge base can read, and an error for each file
// that it cannot. It reads only below the given paths and must not know the
// knowledge base's store or index.
package gather

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/knowledge/extract"
)

// ErrSkipped is matched by a *FileError of a file that Walk left out on purpose
// in a folder: not a supported type, not a regular file, or a link.
var ErrSkipped = errors.New("skipped")

// FileError names the file that an error is about. It never ends a walk.
type FileError struct {
	Path string
	Err  error
}

// Error implements error.
func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// skipped are folders that hold what was built or fetched, not written.
var skipped = map[string]bool{"node_modules": true, "dist": true}

// Walk yields the documents at paths: files as they are, folders with all below
// them, in the order of paths and, in a folder, of names. Folders that are
// named node_modules or dist, or whose name starts with a dot, are left out
// unless they are given as a path themselves. Links are not followed, but a
// path given may be one. A file given twice comes once.
//
// The Source's URI is the file's absolute path. With an error, which is always
// a *FileError, the Source has only URI and Name; the walk goes on. Data is read
// when its turn comes, so one document is in memory at a time.
func Walk(paths []string) iter.Seq2[knowledge.Source, error] {
	return func(yield func(knowledge.Source, error) bool) {
		w := walker{yield: yield, seen: map[string]bool{}}
		for _, p := range paths {
			if !w.root(p) {
				return
			}
		}
	}
}

type walker struct {
	yield func(knowledge.Source, error) bool
	seen  map[string]bool
}

// root visits a path that was asked for. Like all methods here it returns false
// when the walk is to end.
func (w *walker) root(path string) bool {
	abs, err := filepath.Abs(path)
	if err != nil {
		return w.fail(path, err)
	}
	// The given path may be a link; what is below it may not.
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return w.fail(abs, plain(err))
	}
	info, err := os.Stat(real)
	if err != nil {
		return w.fail(abs, plain(err))
	}
	if info.IsDir() {
		return w.folder(real)
	}
	if !info.Mode().IsRegular() {
		return w.fail(abs, errors.New("not a regular file"))
	}
	if _, ok := extract.MediaType(real, ""); !ok {
		return w.fail(abs, extract.ErrUnsupportedType)
	}
	return w.file(real)
}

func (w *walker) folder(dir string) bool {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil && !w.fail(dir, plain(err)) {
		return false
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		ok := true
		switch mode := e.Type(); {
		case mode.IsDir():
			if !skipped[e.Name()] && !strings.HasPrefix(e.Name(), ".") {
				ok = w.folder(path)
			}
		case mode&fs.ModeSymlink != 0:
			ok = w.skip(path, "links are not followed")
		case !mode.IsRegular():
			ok = w.skip(path, "not a regular file")
		case strings.HasPrefix(e.Name(), "."):
		default:
			if _, known := extract.MediaType(path, ""); !known {
				ok = w.skip(path, "not Markdown, plain text or HTML")
				break
			}
			ok = w.file(path)
		}
		if !ok {
			return false
		}
	}
	return true
}

// file yields a document.
func (w *walker) file(path string) bool {
	if w.seen[path] {
		return true
	}
	w.seen[path] = true
	src, err := read(path)
	if err != nil {
		return w.fail(path, err)
	}
	return w.yield(src, nil)
}

func read(path string) (knowledge.Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return knowledge.Source{}, plain(err)
	}
	defer f.Close() // read only; nothing is lost
	info, err := f.Stat()
	if err != nil {
		return knowledge.Source{}, plain(err)
	}
	if !info.Mode().IsRegular() {
		return knowledge.Source{}, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, extract.MaxBytes+1))
	if err != nil {
		return knowledge.Source{}, plain(err)
	}
	if len(data) > extract.MaxBytes {
		return knowledge.Source{}, extract.ErrTooLarge
	}
	return knowledge.Source{URI: path, Name: filepath.Base(path), Data: data, ModTime: info.ModTime()}, nil
}

func (w *walker) skip(path, why string) bool {
	return w.fail(path, fmt.Errorf("%w: %s", ErrSkipped, why))
}

func (w *walker) fail(path string, err error) bool {
	if w.seen["!"+path] {
		return true
	}
	w.seen["!"+path] = true
	return w.yield(knowledge.Source{URI: path, Name: filepath.Base(path)}, &FileError{Path: path, Err: err})
}

// plain takes the path off an error of os; FileError names it.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
