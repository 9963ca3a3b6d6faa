package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/pack"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
)

// Where a guest finds its files.
const (
	workspacePath = "/workspace"
	assetsPath    = "/assets"
)

// DefaultWorkspaceBytes is the quota of a workspace where the grant says nothing.
const DefaultWorkspaceBytes = 64 << 20

// readAssets reads the files that came with a module, nil for none. It returns an *Error
// of kind BadManifest.
func readAssets(wasm []byte, m capability.Manifest) (*files.Assets, error) {
	if m.Assets == "" {
		return nil, nil
	}
	archive, found, err := pack.Section(wasm, m.Assets)
	if err != nil {
		return nil, &Error{Kind: Corrupt, Message: err.Error(), cause: err}
	}
	if !found {
		return nil, &Error{Kind: BadManifest, Message: fmt.Sprintf("The manifest names the section %q for the plugin's files, which the module does not have.", m.Assets)}
	}
	assets, err := files.ReadAssets(archive)
	var bad *files.ArchiveError
	if errors.As(err, &bad) {
		return nil, &Error{Kind: Corrupt, Message: bad.Message, cause: err}
	}
	return assets, err
}

// mounts are the files that this call's guest sees. close gives back what a call has of
// them, when the guest is done. A workspace is new for each call, unless both manifest and
// grant say that it is kept. A kept one that cannot be had refuses the call: with a new one
// a plugin would lose what it thinks is there.
func (c guestCall) mounts(ctx context.Context, user string) (list []engine.Mount, close func() error, refused *tool.Result) {
	close = func() error { return nil }
	if c.assets != nil {
		list = append(list, engine.Mount{Path: assetsPath, FS: c.assets})
	}
	if _, asks := c.manifest.Asks(capability.Workspace); !asks || c.manifest.Implicit {
		return list, close, nil
	}
	right, err := c.gate.Right(ctx, c.manifest, user, capability.Workspace)
	if err != nil {
		c.logger.Error("rights cannot be read; the call gets no workspace", "plugin", c.manifest.Name, "error", err)
		return list, close, nil
	}
	params, ok := right.Params.(*capability.WorkspaceParams)
	if right.Mode != capability.Allow || !ok {
		return list, close, nil
	}
	quota := params.QuotaBytes
	if quota == 0 {
		quota = DefaultWorkspaceBytes
	}
	var space *files.Workspace
	if params.Persistent {
		space, close, refused = c.kept(ctx, user, quota)
	} else {
		space = files.NewWorkspace(quota, time.Now)
	}
	if refused != nil {
		return nil, nil, refused
	}
	return append(list, engine.Mount{Path: workspacePath, FS: space}), close, nil
}

// kept opens the folder of the plugin and the user. It waits for another call that has it as
// long as a call may take.
func (c guestCall) kept(ctx context.Context, user string, quota int64) (*files.Workspace, func() error, *tool.Result) {
	refuse := func(why string) *tool.Result {
		refused := tool.Fail(tool.FailureUnavailable, fmt.Sprintf("%s was not run. %s", c.title, why),
			fmt.Sprintf("The tool %s is not available now. Go on without it.", c.exposed))
		return &refused
	}
	if c.folders == nil || user == "" {
		return nil, nil, refuse("It wants a folder that is kept between calls, which there is none of here. Grant it a workspace without persistent.")
	}
	limit := c.manifest.Limits.Timeout()
	if limit == 0 {
		limit = engine.DefaultLimits().Timeout
	}
	waiting, stop := context.WithTimeout(ctx, limit)
	defer stop()
	space, close, err := c.folders.Open(waiting, c.manifest.Name, user, quota, c.mark(user))
	var broken *files.BrokenError
	switch {
	case err == nil:
		return space, close, nil
	case ctx.Err() != nil:
		result := stopped(c.title)
		return nil, nil, &result
	case errors.Is(err, context.DeadlineExceeded):
		return nil, nil, refuse("Another call of this plugin has had its folder for too long.")
	case errors.As(err, &broken):
		c.logger.Error("a kept folder is broken", "plugin", c.manifest.Name, "user", user, "error", err)
		return nil, nil, refuse(broken.Error())
	}
	c.logger.Error("a kept folder cannot be opened", "plugin", c.manifest.Name, "user", user, "error", err)
	return nil, nil, refuse("Its folder cannot be opened; the host's log says why.")
}

// mark returns what keeps the labels of this call with the folder. It is called before each
// change in it, by the call's goroutine, and looks each time: what the guest has read since
// may have labels that the change before did not have.
func (c guestCall) mark(user string) func() error {
	var kept []string
	return func() error {
		if c.marks == nil || c.carries == nil || len(kept) == len(lasting) {
			return nil
		}
		labels, err := c.carries()
		if err != nil {
			return fmt.Errorf("find the labels of what is written: %w", err)
		}
		kept, err = c.marks.add(folderMark(c.manifest.Name, user), labels)
		return err
	}
}
