package wasmbin

import "fmt"

// Kind says which sort of fault a module has.
type Kind string

const (
	// Malformed is the kind of bytes that are not a WebAssembly module.
	Malformed Kind = "malformed"
	// Unsupported is the kind of a module that is well formed and asks for
	// something that this runtime does not run.
	Unsupported Kind = "unsupported"
	// Invalid is the kind of a module that is well formed and breaks the rules of
	// WebAssembly 2.0: a type that does not fit, an index that names nothing.
	Invalid Kind = "invalid"
	// TooLarge is the kind of a module that is beyond one of the Limits.
	TooLarge Kind = "too_large"
)

// Error is returned when module bytes are refused. Message is a sentence that
// says what was found and, where there is something to do, what to do.
type Error struct {
	Kind    Kind
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

func malformed(format string, args ...any) *Error {
	return &Error{Kind: Malformed, Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *Error {
	return &Error{Kind: Invalid, Message: "The module is not valid WebAssembly 2.0: " + fmt.Sprintf(format, args...) +
		"."}
}

func unsupported(format string, args ...any) *Error {
	return &Error{Kind: Unsupported, Message: fmt.Sprintf(format, args...)}
}

// beyond returns nil if n is within max.
func beyond(what string, n, max uint64) error {
	if n <= max {
		return nil
	}
	return &Error{Kind: TooLarge, Message: fmt.Sprintf("The module has %d %s; at most %d are run.", n, what, max)}
}
