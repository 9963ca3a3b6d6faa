package turn

import (
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// The codes of Error.
const (
	CodeUnknownSession = "unknown_session"
	CodeUnknownMessage = "unknown_message"
	CodeUnknownRun     = "unknown_run"
	CodeUnknownAgent   = "unknown_agent"
	CodeUnknownModel   = "unknown_model"
	CodeUnknownTool    = "unknown_tool"
	CodeUnknownFile    = "unknown_file"
	CodeTooLarge       = "too_large"
	CodeInvalid        = "invalid"
	CodeBusy           = "busy"
	CodeConflict       = "conflict"
	CodeClosing        = "closing"
	CodeRefused        = "refused"
	CodeDiskFull       = "disk_full"
	CodeInternal       = "internal"
)

// Error is why a request was not taken. Nothing of it was stored then.
type Error struct {
	// Code is one of the Code constants.
	Code string
	// Message is a sentence for a person.
	Message string
	// Run is the live run, with CodeBusy.
	Run string
	// Err is the cause, for the log.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return e.Code + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func invalid(format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Message: fmt.Sprintf(format, args...)}
}

var sentences = map[string]string{
	CodeUnknownSession: "There is no such conversation.",
	CodeUnknownMessage: "There is no such message.",
	CodeUnknownRun:     "There is no such run.",
	CodeUnknownAgent:   "There is no such agent. It may have been removed; choose another one.",
	CodeDiskFull:       "The disk is full, so nothing was stored. Free some space on the host's machine and send it again.",
	CodeInternal:       "Something went wrong in the host. Nothing was stored.",
}

// fault turns an error of the store into one for a person; missing says what it
// was that could not be found. It returns nil for nil, and a refusal of identity as it is.
func (s *Service) fault(err error, missing string) error {
	var busy *store.BusyError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &busy):
		return &Error{Code: CodeBusy, Message: "An answer is being written in this conversation. Stop it or wait.", Run: busy.Run, Err: err}
	case errors.Is(err, store.ErrNothingHeld):
		return err
	case errors.Is(err, identity.ErrNobody), errors.Is(err, identity.ErrForbidden):
		return err
	case errors.Is(err, store.ErrConflict):
		return &Error{Code: CodeConflict, Message: "This request id was used for another request.", Err: err}
	case errors.Is(err, store.ErrNotFound):
		return &Error{Code: missing, Message: sentences[missing], Err: err}
	case errors.Is(err, store.ErrInvalid):
		return &Error{Code: CodeInvalid, Message: "The request does not fit the conversation.", Err: err}
	}
	s.Logger.Error("turn failed", "error", err)
	if store.NoSpace(err) {
		return &Error{Code: CodeDiskFull, Message: sentences[CodeDiskFull], Err: err}
	}
	return &Error{Code: CodeInternal, Message: sentences[CodeInternal], Err: err}
}
