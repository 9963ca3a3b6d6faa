package store

import (
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

var (
	// ErrNotFound is returned when there is no such record, or when it belongs to
	// somebody else.
	ErrNotFound = table.ErrNotFound
	// ErrExists is returned when the name is already taken.
	ErrExists = errors.New("it exists already")
	// ErrInvalid is returned when a value cannot be stored as it is.
	ErrInvalid = table.ErrInvalid
	// ErrFull is returned when no more records of a kind are kept.
	ErrFull = errors.New("it is full")
	// ErrConflict is returned when a request id comes again with another body.
	ErrConflict = errors.New("this request id was used for another request")
	// ErrBusy is matched by a *BusyError.
	ErrBusy = errors.New("a run is live in this session")
	// ErrNothingHeld is returned when only held calls were to run and there are none.
	ErrNothingHeld = errors.New("no call is held in this answer")
	// ErrFinished is returned when a run has already ended.
	ErrFinished = errors.New("the run has already ended")
	// ErrEpoch is returned when a run would end in an epoch below its own.
	ErrEpoch = errors.New("the run is in a later epoch")
	// ErrReadOnly is returned when something is written in a View of a Space.
	ErrReadOnly = kv.ErrReadOnly
	// ErrLocked is matched by a *LockedError.
	ErrLocked = kv.ErrLocked
	// ErrClosed is returned when the Store is closed.
	ErrClosed = kv.ErrClosed
	// ErrDamaged is matched when the data file cannot be read.
	ErrDamaged = kv.ErrDamaged
)

// LockedError is returned when another process holds the data file. It matches
// ErrLocked.
type LockedError = kv.LockedError

// BusyError is returned when a session has a live run. It matches ErrBusy.
type BusyError struct {
	// Run is the id of the live run.
	Run string
}

// Error implements error.
func (e *BusyError) Error() string { return fmt.Sprintf("run %s is live in this session", e.Run) }

// Is tells that the error is an ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// RecordError is returned when a record cannot be read. Everything else in the
// store is untouched: a method that returns a list returns the readable records
// together with the RecordErrors of the others, joined.
type RecordError = table.RecordError

// NoSpace tells whether an error says that the disk is full.
func NoSpace(err error) bool { return kv.NoSpace(err) }

func notFound(what, id string) error { return fmt.Errorf("%s %q: %w", what, id, ErrNotFound) }

// FieldError is returned when one field of a record cannot be kept as it is. It is
// an ErrInvalid.
type FieldError = table.FieldError

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

func full(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFull, fmt.Sprintf(format, args...))
}
