package guest

import (
	"errors"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// Kind says what is wrong with a module.
type Kind string

// The kinds of an Error.
const (
	// Corrupt: the file is no WebAssembly module, or a damaged one.
	Corrupt Kind = "corrupt"
	// Unsupported: the module asks for what this host does not run.
	Unsupported Kind = "unsupported"
	// BadManifest: the manifest breaks its format.
	BadManifest Kind = "bad_manifest"
	// BadTools: list_tools failed or did not answer in the protocol.
	BadTools Kind = "bad_tools"
	// UnknownTool: the module has no such tool.
	UnknownTool Kind = "unknown_tool"
)

// Error is returned when a module cannot be loaded or called at all. What goes wrong inside
// a call is a tool.Failure instead.
type Error struct {
	Kind Kind
	// Message is a sentence or two for a person: what was found, what to do.
	Message string

	cause error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns what lies below, nil for nothing.
func (e *Error) Unwrap() error { return e.cause }

// Damaged returns an Error of kind Corrupt for what a reader of module bytes returned.
func Damaged(err error) *Error { return &Error{Kind: Corrupt, Message: err.Error(), cause: err} }

// loadError turns what Load returned into an Error where the module is at fault.
func loadError(err error) error {
	var refused *engine.LoadError
	if !errors.As(err, &refused) {
		return err
	}
	e := &Error{Kind: Unsupported, Message: refused.Message, cause: err}
	if refused.Kind == engine.Malformed || refused.Kind == engine.Invalid {
		e.Kind = Corrupt
	}
	return e
}

// manifestError names the field that is wrong.
func manifestError(err error) error {
	text := "The plugin's manifest is wrong: " + err.Error() + "."
	var f *capability.Fault
	if errors.As(err, &f) {
		text = "The plugin's manifest is wrong at " + f.Error() + "."
		if f.Path == "" {
			text = "The plugin's manifest is wrong: " + f.Message + "."
		}
	}
	return &Error{Kind: BadManifest, Message: text, cause: err}
}
