package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Function is one host function. It is immutable; its fields are called from
// many goroutines.
type Function struct {
	// Name and Capability are those of the catalogue.
	Name, Capability string
	// Quiet leaves allowed calls out of the audit log, for what a tool call does
	// many times without effect outside; its sums are still recorded.
	Quiet bool
	// Check refuses arguments; nil accepts every JSON object.
	Check func(args json.RawMessage) error
	// Admit decides about this call beyond the mode of its right, as by an
	// allow-list, before anybody is asked and before it is recorded. It changes
	// nothing and may run twice. Right gives it the right. What it returns denies:
	// an *Error as it is. nil admits every call.
	Admit func(ctx context.Context, c *Call, args json.RawMessage) error
	// Batch, when not empty, makes this the function that takes
	// {"requests":[…]} of the function it names and gives {"results":[…]}, each a
	// block of its own. Each request is a host call of its own; only Name,
	// Capability and Batch are set then.
	Batch string
	// Handle does the work; what it returns becomes the JSON of "ok". It runs on
	// the goroutine of the tool call and must return when ctx is done.
	Handle func(ctx context.Context, c *Call, args json.RawMessage) (any, error)
	// Summary says in a few words what is asked, without secrets; nil for none.
	Summary func(args json.RawMessage) string
}

// Typed returns a function whose arguments are decoded strictly into A: unknown
// fields and bytes after the object are refused.
func Typed[A any](name, capability string, summary func(A) string, handle func(ctx context.Context, c *Call, args A) (any, error)) Function {
	f := Function{
		Name:       name,
		Capability: capability,
		Check: func(args json.RawMessage) error {
			_, err := decode[A](args)
			return err
		},
		Handle: func(ctx context.Context, c *Call, args json.RawMessage) (any, error) {
			a, err := decode[A](args)
			if err != nil {
				return nil, Errorf(Invalid, "%v", err)
			}
			return handle(ctx, c, a)
		},
	}
	if summary != nil {
		f.Summary = func(args json.RawMessage) string {
			a, err := decode[A](args)
			if err != nil {
				return ""
			}
			return summary(a)
		}
	}
	return f
}

// TypedAdmit is a Function.Admit whose arguments are decoded as Typed does.
func TypedAdmit[A any](admit func(ctx context.Context, c *Call, args A) error) func(context.Context, *Call, json.RawMessage) error {
	return func(ctx context.Context, c *Call, args json.RawMessage) error {
		a, err := decode[A](args)
		if err != nil {
			return Errorf(Invalid, "%v", err)
		}
		return admit(ctx, c, a)
	}
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
