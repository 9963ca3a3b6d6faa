package hostfunc

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
)

// DefaultWorkspaceBytes is the quota of a workspace where the grant says nothing.
const DefaultWorkspaceBytes = 64 << 20

// ErrNoFolder is returned by Workspace when a folder is to be kept and there is no place or
// nobody to keep it for.
var ErrNoFolder = errors.New("no folder is kept between calls here")

// workspacePart keeps the folders of the capability workspace. It has no functions: a guest
// sees its folder through WASI.
func workspacePart(s Services, m *marks) part {
	f := folders{s.Workspaces, s.Storage, m}
	p := part{capability: capability.Workspace, forget: f.forget}
	if s.Storage != nil {
		p.brings = f.brings
	}
	return p
}

// folders are the kept workspaces and their labels.
type folders struct {
	kept  *files.Kept
	space Storage
	marks *marks
}

// folderMark is where the labels of a folder are.
func folderMark(o owner) string { return "workspace/" + o.plugin + "/" + url.PathEscape(o.user) }

// brings are the labels of the files in the folder of a plugin and a user.
func (f folders) brings(_ context.Context, o owner, right capability.Right) ([]string, error) {
	params, ok := right.Params.(*capability.WorkspaceParams)
	if !ok || right.Mode != capability.Allow || !params.Persistent {
		return nil, nil
	}
	return f.marks.of(folderMark(o))
}

// forget deletes a user's folders and their labels.
func (f folders) forget(ctx context.Context, user string) error {
	var errs []error
	if f.kept != nil {
		errs = append(errs, f.kept.RemoveUser(ctx, user))
	}
	if f.space != nil {
		id := url.PathEscape(user)
		errs = append(errs, f.space.Update(func(tx Tx) error {
			return deleteAll(tx, "workspace/", func(key string) bool {
				parts := strings.Split(key, "/")
				return len(parts) == 3 && parts[2] == id
			})
		}))
	}
	return errors.Join(errs...)
}

// Workspace opens the folder of a plugin and a user, as the right says: a new one, or the
// one that is kept, for which it waits until ctx is done while another call has it. The
// caller calls close when the guest is done. carries returns the labels of what is written
// at a moment; nil where nobody keeps track. It returns nil where the right gives no folder,
// and ErrNoFolder, a *files.BrokenError or the error of ctx where there is none to be had.
func (h *Host) Workspace(ctx context.Context, plugin, user string, right capability.Right,
	carries func() ([]string, error),
) (space *files.Workspace, close func() error, err error) {
	params, ok := right.Params.(*capability.WorkspaceParams)
	if right.Mode != capability.Allow || !ok {
		return nil, nil, nil
	}
	quota := params.QuotaBytes
	if quota == 0 {
		quota = DefaultWorkspaceBytes
	}
	if !params.Persistent {
		return files.NewWorkspace(quota, h.services.Now), func() error { return nil }, nil
	}
	if h.services.Workspaces == nil || user == "" {
		return nil, nil, ErrNoFolder
	}
	return h.services.Workspaces.Open(ctx, plugin, user, quota, h.mark(owner{plugin, user}, carries))
}

// mark returns what keeps the labels of a call with the folder. It is called before each
// change in it, by the call's goroutine, and looks each time: what the guest has read since
// may have labels that the change before did not have.
func (h *Host) mark(o owner, carries func() ([]string, error)) func() error {
	var kept []string
	return func() error {
		if h.marks.space == nil || carries == nil || len(kept) == len(lasting) {
			return nil
		}
		labels, err := carries()
		if err != nil {
			return fmt.Errorf("find the labels of what is written: %w", err)
		}
		kept, err = h.marks.add(folderMark(o), labels)
		return err
	}
}
