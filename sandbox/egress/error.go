package egress

import (
	"fmt"
)

// Kind is why a request came to nothing.
type Kind string

// The kinds of an Error.
const (
	// Invalid: the request itself is malformed.
	Invalid Kind = "invalid"
	// Denied: the request is well-formed and may not be made.
	Denied Kind = "denied"
	// Unresolved: the name has no address.
	Unresolved Kind = "unresolved"
	// Unreachable: no connection, or no trust in the one that was opened.
	Unreachable Kind = "unreachable"
	// Timeout: the time ran out.
	Timeout Kind = "timeout"
	// Redirects: there were more redirects than are followed, or a broken one.
	Redirects Kind = "redirects"
	// Broken: what came back breaks HTTP, ends early or is not encoded as it says.
	Broken Kind = "broken"
	// Bomb: the body unpacks to far more than it weighs.
	Bomb Kind = "bomb"
	// TooLarge: the response is larger than it may be and a part is of no use.
	TooLarge Kind = "too_large"
)

// Error is returned when a request was refused or failed. When the caller's
// context ended first, ctx.Err() is returned instead.
type Error struct {
	Kind Kind
	// Message is a sentence for whoever asked, without secrets.
	Message string

	cause error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns what lies below, nil for nothing.
func (e *Error) Unwrap() error { return e.cause }

func fail(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) from(cause error) *Error {
	e.cause = cause
	return e
}

// shorten cuts a text for a message.
func shorten(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n]) + "…"
}
