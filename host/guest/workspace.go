package guest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
)

// Where a guest finds its files.
const (
	workspacePath = "/workspace"
	assetsPath    = "/assets"
)

// mounts are the files that this call's guest sees. close gives back what a call has of
// them, when the guest is done. A workspace is new for each call, unless both manifest and
// grant say that it is kept. A kept one that cannot be had refuses the call: with a new one
// a plugin would lose what it thinks is there.
func (c Call) mounts(ctx context.Context, user string) (list []engine.Mount, close func() error, refused *tool.Result) {
	close = func() error { return nil }
	if c.Assets != nil {
		list = append(list, engine.Mount{Path: assetsPath, FS: c.Assets})
	}
	if _, asks := c.Manifest.Asks(capability.Workspace); !asks || c.Manifest.Implicit {
		return list, close, nil
	}
	right, err := c.Gate.Right(ctx, c.Manifest, user, capability.Workspace)
	if err != nil {
		c.Logger.Error("rights cannot be read; the call gets no workspace", "plugin", c.Manifest.Name, "error", err)
		return list, close, nil
	}
	waiting, stop := context.WithTimeout(ctx, c.limit())
	defer stop()
	space, give, err := c.Host.Workspace(waiting, c.Manifest.Name, user, right, c.Carries)
	if err != nil {
		return nil, nil, c.noFolder(ctx, user, err)
	}
	if space == nil {
		return list, close, nil
	}
	return append(list, engine.Mount{Path: workspacePath, FS: space}), give, nil
}

// limit is how long a call may take, and may wait for its folder.
func (c Call) limit() time.Duration {
	if limit := c.Manifest.Limits.Timeout(); limit != 0 {
		return limit
	}
	return engine.DefaultLimits().Timeout
}

// noFolder is the result of a call whose folder cannot be had.
func (c Call) noFolder(ctx context.Context, user string, err error) *tool.Result {
	why := "Its folder cannot be opened; the host's log says why."
	var broken *files.BrokenError
	switch {
	case errors.Is(err, hostfunc.ErrNoFolder):
		why = "It wants a folder that is kept between calls, which there is none of here. " +
			"Grant it a workspace without persistent."
	case ctx.Err() != nil:
		result := Stopped(c.Title)
		return &result
	case errors.Is(err, context.DeadlineExceeded):
		why = "Another call of this plugin has had its folder for too long."
	case errors.As(err, &broken):
		c.Logger.Error("a kept folder is broken", "plugin", c.Manifest.Name, "user", user, "error", err)
		why = broken.Error()
	default:
		c.Logger.Error("a kept folder cannot be opened", "plugin", c.Manifest.Name, "user", user, "error", err)
	}
	refused := tool.Fail(tool.FailureUnavailable, fmt.Sprintf("%s was not run. %s", c.Title, why),
		fmt.Sprintf("The tool %s is not available now. Go on without it.", c.Exposed))
	return &refused
}
