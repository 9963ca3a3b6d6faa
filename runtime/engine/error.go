package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// CallKind says how a call ended when it did not end well.
type CallKind string

// The kinds of a CallError.
const (
	// Trap: the guest did what WebAssembly or the ABI forbids, or ran out of memory
	// or stack.
	Trap CallKind = "trap"
	// Timeout: the call's wall time was over. errors.Is(err, context.DeadlineExceeded).
	Timeout CallKind = "timeout"
	// CPU: the call has spent its fuel.
	CPU CallKind = "cpu"
	// Cancelled: the caller's context was cancelled, or the module was closed.
	// errors.Is(err, context.Canceled).
	Cancelled CallKind = "cancelled"
	// OutputTooLarge: the output is beyond the limit; none of it is returned.
	OutputTooLarge CallKind = "output_too_large"
	// GuestError: the guest reported an error, by error_set or its return value.
	GuestError CallKind = "guest_error"
	// Exit: the guest called proc_exit with a code other than 0.
	Exit CallKind = "exit"
	// MissingExport: the module has no such function, or one that takes parameters.
	MissingExport CallKind = "missing_export"
	// HostFault: a host function panicked. The host's log has the reason.
	HostFault CallKind = "host_fault"
)

// CallError is returned when a call fails. Message is a sentence for a person or a
// model; it never holds a Go stack.
type CallError struct {
	Kind    CallKind
	Message string
	// Code is the exit code of Exit, and the return value of GuestError.
	Code int32
}

// Error implements error.
func (e *CallError) Error() string { return e.Message }

// Is reports whether the error is what target says: context.DeadlineExceeded for
// Timeout, context.Canceled for Cancelled.
func (e *CallError) Is(target error) bool {
	return e.Kind == Timeout && target == context.DeadlineExceeded ||
		e.Kind == Cancelled && target == context.Canceled
}

// LoadKind says why a module was not loaded.
type LoadKind string

// The kinds of a LoadError.
const (
	// Malformed: the bytes are no WebAssembly module.
	Malformed LoadKind = "malformed"
	// Unsupported: the module asks for something that is not run here.
	Unsupported LoadKind = "unsupported"
	// TooLarge: the module is beyond a limit of its structure.
	TooLarge LoadKind = "too_large"
	// Invalid: the module breaks the rules of WebAssembly 2.0.
	Invalid LoadKind = "invalid"
	// CompilerFault: the compiler failed on the module. The host's log has the
	// reason.
	CompilerFault LoadKind = "compiler_fault"
)

// LoadError is returned when a module is refused. Message is a sentence that says
// what was found and, where there is something to do, what to do.
type LoadError struct {
	Kind    LoadKind
	Message string
}

// Error implements error.
func (e *LoadError) Error() string { return e.Message }

// refusal turns an error of wasmbin into a LoadError; others pass with what was
// being done.
func refusal(err error) error {
	var structure *wasmbin.Error
	if errors.As(err, &structure) {
		return &LoadError{Kind: LoadKind(structure.Kind), Message: structure.Message}
	}
	return fmt.Errorf("load a module: %w", err)
}
