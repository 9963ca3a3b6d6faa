// Package refuse tells clients of errors.
//
// An error comes in, from whichever room; the fault that a client can act on goes out. What
// nobody can act on is logged and told as internal.
package refuse

import (
	"errors"
	"log/slog"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// Send answers with f.
func Send(c *fiber.Ctx, f *fault.Error) error {
	return c.Status(f.Status()).JSON(Body{Error: f})
}

// Body is how a refusal looks over HTTP.
type Body struct {
	Error *fault.Error `json:"error"`
}

// Teller tells clients of errors.
type Teller struct{ Log *slog.Logger }

// Of is what a client is told of an error. What it cannot act on is logged
// and told as internal; request is the id that the log names it by.
func (t Teller) Of(err error, request string) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		if f.Code.OfHost() {
			t.Log.Error("request", "request", request, "run", f.Run, "error", err)
		}
		return f
	}
	var unrouted *fiber.Error
	if errors.As(err, &unrouted) {
		if code := fault.ByStatus(unrouted.Code); !code.OfHost() {
			return fault.Of(code)
		}
	}
	if f := roomFault(err); f != nil {
		return f
	}
	t.Log.Error("request", "request", request, "error", err)
	if store.NoSpace(err) {
		return fault.Of(fault.DiskFull)
	}
	return fault.Of(fault.Internal)
}

// room is what an error of a room below means to a client.
type room struct {
	err  error
	code fault.Code
	// message is the sentence, "" for the code's own.
	message string
	// detailed appends the error's own text, which is of the request.
	detailed bool
}

// rooms are the refusals of identity and the errors of the store and of the knowledge base that a client can
// act on. The first that matches counts.
var rooms = []room{
	{err: identity.ErrNobody, code: fault.SignedOut},
	{err: identity.ErrForbidden, code: fault.Forbidden},
	{err: identity.ErrNotYours, code: fault.NotFound, message: "There is no such record."},
	{err: store.ErrNotFound, code: fault.NotFound, message: "There is no such record."},
	{err: store.ErrExists, code: fault.Conflict, message: "The name is taken already."},
	{err: store.ErrConflict, code: fault.Conflict, message: "This request id was used for another request."},
	{err: store.ErrLastOperator, code: fault.Conflict, message: "This is the only operator, and one must remain."},
	{err: store.ErrInvalid, code: fault.Invalid, message: "The value cannot be kept", detailed: true},
	{err: knowledge.ErrNotFound, code: fault.UnknownDocument},
	{err: knowledge.ErrInvalid, code: fault.Invalid, message: "The request cannot be taken", detailed: true},
	{err: knowledge.ErrTooDeep, code: fault.Invalid, message: "The document is nested too deeply to be read."},
	{err: knowledge.ErrUnsupportedType, code: fault.UnsupportedType},
	{err: knowledge.ErrTooLarge, code: fault.TooLarge, message: "The document is too large."},
	{err: knowledge.ErrBadEncoding, code: fault.BadEncoding},
}

// roomFault reads the errors of rooms; nil for one that a client cannot act on.
func roomFault(err error) *fault.Error {
	var busy *store.BusyError
	if errors.As(err, &busy) {
		f := fault.New(fault.Busy, "A run is still live there. Stop it first.")
		f.Run = busy.Run
		return f
	}
	for _, r := range rooms {
		if errors.Is(err, r.err) {
			message := r.message
			if r.detailed {
				message += ": " + frame.Clip(err.Error(), 200) + "."
			}
			return fault.New(r.code, message)
		}
	}
	return nil
}
