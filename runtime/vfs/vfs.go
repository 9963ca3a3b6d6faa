// Package vfs is the interface between a guest's files and whoever keeps them: the
// runtime shows an FS to a module through WASI, and another room implements it.
//
// Paths and bytes go in and come out. It must not know WebAssembly, nor where the files
// are.
package vfs

import (
	"errors"
	"time"
)

// The errors that an FS may return beside fs.ErrNotExist, fs.ErrExist, fs.ErrInvalid and
// fs.ErrClosed.
var (
	// ErrReadOnly is returned when something would change that cannot be changed.
	ErrReadOnly = errors.New("the files are read-only")
	// ErrQuota is returned when a change would take more room than the guest may have.
	ErrQuota = errors.New("no room is left")
	// ErrFull is returned when there is no room where the files are kept, for anybody.
	ErrFull = errors.New("the disk is full")
	// ErrTooManyOpen is returned when a guest has more files open than it may.
	ErrTooManyOpen = errors.New("too many files are open")
	// ErrDir is returned when a directory stands where a file is needed.
	ErrDir = errors.New("it is a directory")
	// ErrNotDir is returned when a file stands where a directory is needed.
	ErrNotDir = errors.New("it is not a directory")
	// ErrNotEmpty is returned when a directory that is not empty would go.
	ErrNotEmpty = errors.New("the directory is not empty")
	// ErrNameTooLong is returned when a name has more bytes than a name may have.
	ErrNameTooLong = errors.New("the name is too long")
)

// How a file is opened: one of Read, Write or both, and what else is wanted.
const (
	Read = 1 << iota
	Write
	// Create makes the file where there is none; with Exclusive it must not be there.
	Create
	Exclusive
	// Truncate empties the file.
	Truncate
)

// Info describes a file or a directory.
type Info struct {
	Name string
	Dir  bool
	// Size is in bytes, 0 for a directory.
	Size     int64
	Modified time.Time
	// Inode is not 0 and differs for everything that is there at a time.
	Inode uint64
	// Writable is false where nothing can be changed.
	Writable bool
}

// FS is a tree of files. Names are as fs.ValidPath wants them; "." is the root. It is
// used by one guest at a time unless it says otherwise.
type FS interface {
	// Open opens a file or a directory.
	Open(name string, how int) (File, error)
	// Stat describes what is at name. There are no links.
	Stat(name string) (Info, error)
	Mkdir(name string) error
	// Remove removes a file, or with dir an empty directory. A file that is open can
	// be used until it is closed.
	Remove(name string, dir bool) error
	// Rename moves a file or a directory, in the place of a file or of an empty
	// directory that is there.
	Rename(from, to string) error
}

// File is an open file or directory.
type File interface {
	Stat() (Info, error)
	// ReadAt and WriteAt are as in io; WriteAt may make the file longer.
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	// List returns what is in a directory, by name.
	List() ([]Info, error)
	Close() error
}

// Mount is an FS at a path of the guest, such as /workspace.
type Mount struct {
	Path string
	FS   FS
}
