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

// mounts are the files that this call's guest sees. Its workspace is new for each call;
// a grant that would keep it cannot be kept to, so the call is refused: a plugin would
// lose what it thinks is there.
func (c guestCall) mounts(ctx context.Context, user string) ([]engine.Mount, *tool.Result) {
	var list []engine.Mount
	if c.assets != nil {
		list = append(list, engine.Mount{Path: assetsPath, FS: c.assets})
	}
	if _, asks := c.manifest.Asks(capability.Workspace); !asks || c.manifest.Implicit {
		return list, nil
	}
	rights, err := c.gate.Rights(ctx, c.manifest, user)
	if err != nil {
		c.logger.Error("rights cannot be read; the call gets no workspace", "plugin", c.manifest.Name, "error", err)
		return list, nil
	}
	right := rights.Of(capability.Workspace)
	params, ok := right.Params.(*capability.WorkspaceParams)
	if right.Mode != capability.Allow || !ok {
		return list, nil
	}
	if params.Persistent {
		refused := tool.Fail(tool.FailureUnavailable,
			fmt.Sprintf("%s wants a folder that is kept between calls, which this host does not have. Grant it a workspace without persistent.", c.title),
			fmt.Sprintf("The tool %s is not available now. Go on without it.", c.exposed))
		return nil, &refused
	}
	quota := params.QuotaBytes
	if quota == 0 {
		quota = DefaultWorkspaceBytes
	}
	return append(list, engine.Mount{Path: workspacePath, FS: files.NewWorkspace(quota, time.Now)}), nil
}
