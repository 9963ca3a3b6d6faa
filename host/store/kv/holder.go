package kv

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// LockedError is returned when another process holds the data file. It matches
// ErrLocked.
type LockedError struct {
	Path string
	// PID and Command name the process; 0 and "" where that is not known.
	PID     int
	Command string
}

// Error implements error.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is in use by another process", e.Path)
	}
	return fmt.Sprintf("%s is in use by process %d (%s)", e.Path, e.PID, e.Command)
}

// Is tells that the error is an ErrLocked.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// holder is what stands in the file beside the data file, for other processes
// to read. The lock itself is the operating system's, on the data file.
type holder struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

func holderPath(path string) string { return path + ".holder" }

// writeHolder names this process as the holder. The caller has the lock.
func writeHolder(path, command string) error {
	data, err := json.Marshal(holder{PID: os.Getpid(), Command: cmp.Or(command, filepath.Base(os.Args[0]))})
	if err != nil {
		return err
	}
	draft := holderPath(path) + ".new"
	if err := os.WriteFile(draft, data, 0o600); err != nil {
		return err
	}
	return os.Rename(draft, holderPath(path))
}

// removeHolder takes the name away. The caller still has the lock. If it stays
// behind, the next holder overwrites it.
func removeHolder(path string) { _ = os.Remove(holderPath(path)) }

// LockedBy says who holds the file. A process that died without taking its name
// away is not named.
func LockedBy(path string) *LockedError {
	e := &LockedError{Path: path}
	data, err := os.ReadFile(holderPath(path))
	var h holder
	if err != nil || json.Unmarshal(data, &h) != nil || !alive(h.PID) {
		return e
	}
	e.PID, e.Command = h.PID, h.Command
	return e
}

func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}
