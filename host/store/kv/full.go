package kv

import (
	"errors"
	"strings"
	"syscall"
)

// NoSpace tells whether an error says that the disk, or what of it this process
// may use, is full.
func NoSpace(err error) bool {
	if err == nil {
		return false
	}
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		// bbolt wraps what it meets while the file grows as text only.
		if errors.Is(err, full) || strings.HasSuffix(err.Error(), ": "+full.Error()) {
			return true
		}
	}
	return false
}
