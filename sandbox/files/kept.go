package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"
)

// Kept are the workspaces that are kept between calls: a folder for each owner and user. It
// is safe for concurrent use; nothing else may write below its folder.
type Kept struct {
	dir string
	now func() time.Time

	// mu guards busy: a place for each folder that is or was open, which holds a token
	// while it is.
	mu   sync.Mutex
	busy map[string]chan struct{}
}

// NewKept returns the workspaces below dir, which is made when the first is.
func NewKept(dir string, now func() time.Time) *Kept {
	return &Kept{dir: dir, now: now, busy: map[string]chan struct{}{}}
}

// folderOf is where the workspace of an owner and a user is. A user's id can be anything, so
// the name is its hash.
func folderOf(owner, user string) string {
	sum := sha256.Sum256([]byte(user))
	return path.Join(owner, hex.EncodeToString(sum[:16]))
}

// Open returns the workspace of an owner, whose name is fit for a folder, and a user, of at
// most quota bytes: names and the host's own costs included, and each file's bytes in blocks
// of 4 KiB. One call has it at a time; others wait, no longer than ctx. before is called
// before anything in it changes, and its error keeps it from changing. close gives the
// folder back; no guest uses the workspace then. The error is a *BrokenError where the
// folder holds what does not belong there.
func (k *Kept) Open(
	ctx context.Context, owner, user string, quota int64, before func() error,
) (w *Workspace, close func() error, err error) {
	folder := folderOf(owner, user)
	release, err := k.acquire(ctx, folder)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	root, err := k.root(folder)
	if err != nil {
		return nil, nil, fmt.Errorf("open a kept folder: %w", err)
	}
	if w, err = openDisk(root, quota, before); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open a kept folder: %w", err), root.Close())
	}
	w.now = k.now
	return w, func() error {
		defer release()
		return w.disk.closeAll()
	}, nil
}

// acquire waits until nobody else has a folder.
func (k *Kept) acquire(ctx context.Context, folder string) (release func(), err error) {
	k.mu.Lock()
	place := k.busy[folder]
	if place == nil {
		place = make(chan struct{}, 1)
		k.busy[folder] = place
	}
	k.mu.Unlock()
	select {
	case place <- struct{}{}:
		return func() { <-place }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// root opens a folder below the kept ones, and makes it if it is not there.
func (k *Kept) root(folder string) (*os.Root, error) {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return nil, err
	}
	base, err := os.OpenRoot(k.dir)
	if err != nil {
		return nil, err
	}
	defer base.Close() // what was opened below stays
	if err := base.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	return base.OpenRoot(folder)
}

// RemoveUser deletes the workspaces of a user, of all owners. It waits for calls that have
// one.
func (k *Kept) RemoveUser(ctx context.Context, user string) error {
	owners, err := os.ReadDir(k.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove the kept folders of a user: %w", err)
	}
	base, err := os.OpenRoot(k.dir)
	if err != nil {
		return fmt.Errorf("remove the kept folders of a user: %w", err)
	}
	defer base.Close() // nothing of it is open
	for _, owner := range owners {
		folder := folderOf(owner.Name(), user)
		release, err := k.acquire(ctx, folder)
		if err == nil {
			err = base.RemoveAll(folder)
			release()
		}
		if err != nil {
			return fmt.Errorf("remove the kept folders of a user: %w", err)
		}
	}
	return nil
}
