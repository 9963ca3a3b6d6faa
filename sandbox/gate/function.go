package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// Kind is what went wrong in a host call, told to the guest.
type Kind string

// The kinds of errors that a guest sees.
const (
	// Denied: the right is not there.
	Denied Kind = "denied"
	// Quota: the right is there, its amount is used up.
	Quota Kind = "quota"
	// Invalid: the arguments are wrong.
	Invalid Kind = "invalid"
	// NotFound: what was named does not exist, or not for this user.
	NotFound Kind = "not_found"
	// Unavailable: this host does not serve the function now.
	Unavailable Kind = "unavailable"
	// Cancelled: the tool call is over.
	Cancelled Kind = "cancelled"
	// Timeout: it took longer than it may, and the tool call goes on.
	Timeout Kind = "timeout"
	// Failed: the host could not do it.
	Failed Kind = "failed"
)

// Error is returned by a handler to tell the guest what was wrong. Any other
// error reaches the guest as Failed, without its text.
type Error struct {
	Kind Kind
	// Message is a sentence for the guest, without secrets.
	Message string
}

func (e *Error) Error() string { return string(e.Kind) + ": " + e.Message }

// Errorf returns an *Error.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Function is one host function. It is immutable and used from many goroutines. One that
// does something itself is made by Typed.Function.
type Function struct {
	// Name and Capability are those of the catalogue.
	Name, Capability string
	// Quiet leaves allowed calls out of the audit log, for what a tool call does
	// many times without effect outside; its sums are still recorded.
	Quiet bool
	// Batch, when not empty, makes this the function that takes
	// {"requests":[…]} of the function it names and gives {"results":[…]}, each a
	// block of its own. Each request is a host call of its own; only Name,
	// Capability and Batch are set then.
	Batch string

	// read decodes the arguments of one host call, once for all that is done with them.
	read func(args json.RawMessage) (asked, error)
}

// asked is what one host call asks, its arguments decoded.
type asked struct {
	// admit and summary may be nil.
	admit   func(ctx context.Context, r Request) error
	summary func() string
	handle  func(ctx context.Context, r Request) (any, error)
}

// Request is one host call as its function sees it.
type Request struct {
	// Call is the tool call that it belongs to.
	*Call
	// Right is the right that was decided for this host call.
	Right capability.Right
}

// Typed describes a function whose arguments are an A. They are decoded strictly, once for
// each host call: unknown fields and bytes after the object are refused.
type Typed[A any] struct {
	// Name, Capability and Quiet are as in Function.
	Name, Capability string
	Quiet            bool
	// Summary says in a few words what is asked, without secrets; nil for nothing.
	Summary func(args A) string
	// Admit decides about this call beyond the mode of its right, as by an
	// allow-list, before anybody is asked and before it is recorded. It changes
	// nothing and may run twice. What it returns denies: an *Error as it is. nil
	// admits every call.
	Admit func(ctx context.Context, r Request, args A) error
	// Handle does the work; what it returns becomes the JSON of "ok". It runs on
	// the goroutine of the tool call and must return when ctx is done.
	Handle func(ctx context.Context, r Request, args A) (any, error)
}

// Function returns the function that t describes.
func (t Typed[A]) Function() Function {
	f := Function{Name: t.Name, Capability: t.Capability, Quiet: t.Quiet}
	if t.Handle == nil {
		return f // which New refuses
	}
	f.read = func(block json.RawMessage) (asked, error) {
		args, err := decode[A](block)
		if err != nil {
			return asked{}, err
		}
		a := asked{handle: func(ctx context.Context, r Request) (any, error) { return t.Handle(ctx, r, args) }}
		if t.Admit != nil {
			a.admit = func(ctx context.Context, r Request) error { return t.Admit(ctx, r, args) }
		}
		if t.Summary != nil {
			a.summary = func() string { return t.Summary(args) }
		}
		return a, nil
	}
	return f
}

func decode[A any](args json.RawMessage) (A, error) {
	var a A
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return a, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return a, errors.New("there is more after the JSON object")
	}
	return a, nil
}
