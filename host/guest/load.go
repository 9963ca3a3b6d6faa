package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/pack"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
)

// ReadManifest returns the manifest in a module and its bytes; the default one,
// named fallback, where there is none. It returns an *Error.
func ReadManifest(wasm []byte, fallback string) (capability.Manifest, json.RawMessage, error) {
	raw, found, err := pack.Section(wasm, pack.SectionManifest)
	if err != nil {
		return capability.Manifest{}, nil, Damaged(err)
	}
	if !found {
		return capability.Default(fallback), nil, nil
	}
	m, err := ParseManifest(raw)
	if err != nil {
		return capability.Manifest{}, nil, err
	}
	return m, raw, nil
}

// ParseManifest reads a manifest that came beside a module. It returns an *Error of kind
// BadManifest.
func ParseManifest(data []byte) (capability.Manifest, error) {
	m, err := capability.ParseManifest(data)
	if err != nil {
		return capability.Manifest{}, manifestError(err)
	}
	return m, nil
}

// ReadAssets reads the files that came with a module, nil for none. It returns an *Error
// of kind BadManifest.
func ReadAssets(wasm []byte, m capability.Manifest) (*files.Assets, error) {
	if m.Assets == "" {
		return nil, nil
	}
	archive, found, err := pack.Section(wasm, m.Assets)
	if err != nil {
		return nil, Damaged(err)
	}
	if !found {
		return nil, &Error{Kind: BadManifest, Message: fmt.Sprintf(
			"The manifest names the section %q for the plugin's files, which the module does not have.", m.Assets)}
	}
	assets, err := files.ReadAssets(archive)
	var bad *files.ArchiveError
	if errors.As(err, &bad) {
		return nil, &Error{Kind: Corrupt, Message: bad.Message, cause: err}
	}
	return assets, err
}

// Load compiles a module with the limits of its manifest. It returns an *Error where the
// module is at fault. The caller closes the module.
func Load(ctx context.Context, e *engine.Engine, wasm []byte, m capability.Manifest) (*engine.Module, error) {
	module, err := e.Load(ctx, wasm, engineLimits(m))
	if err != nil {
		return nil, loadError(err)
	}
	return module, nil
}

// engineLimits are what a module is loaded with: its manifest's limits, and WASI's files
// where it has any.
func engineLimits(m capability.Manifest) engine.Limits {
	l := m.Limits
	_, workspace := m.Asks(capability.Workspace)
	return engine.Limits{
		MemoryMiB: l.MemoryMiB, Timeout: l.Timeout(), OutputBytes: l.OutputBytes, Concurrency: l.Concurrency,
		Fuel: l.Fuel, Fresh: l.Isolation == "fresh",
		Files: m.Assets != "" || workspace && !m.Implicit || m.Protocol == capability.ProtocolWASICommand,
	}
}
