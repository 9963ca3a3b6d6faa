package turn

import (
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// Error is why a request was not taken. Nothing of it was stored then.
type Error = fault.Error

// The codes of Error, of those that host/fault has.
const (
	CodeUnknownSession = fault.UnknownSession
	CodeUnknownMessage = fault.UnknownMessage
	CodeUnknownRun     = fault.UnknownRun
	CodeUnknownAgent   = fault.UnknownAgent
	CodeUnknownModel   = fault.UnknownModel
	CodeUnknownTool    = fault.UnknownTool
	CodeUnknownFile    = fault.UnknownFile
	CodeTooLarge       = fault.TooLarge
	CodeInvalid        = fault.Invalid
	CodeBusy           = fault.Busy
	CodeConflict       = fault.Conflict
	CodeClosing        = fault.Closing
	CodeRefused        = fault.Refused
	CodeDiskFull       = fault.DiskFull
	CodeInternal       = fault.Internal
)

func invalid(format string, args ...any) *Error {
	return fault.New(fault.Invalid, fmt.Sprintf(format, args...))
}

// fault turns an error of the store into one for a person; missing says what it
// was that could not be found. It returns nil for nil, and a refusal of identity as it is.
func (s *Service) fault(err error, missing fault.Code) error {
	var busy *store.BusyError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &busy):
		e := fault.Of(fault.Busy).Because(err)
		e.Run = busy.Run
		return e
	case errors.Is(err, store.ErrNothingHeld):
		return err
	case errors.Is(err, identity.ErrNobody), errors.Is(err, identity.ErrForbidden):
		return err
	case errors.Is(err, store.ErrConflict):
		return fault.New(fault.Conflict, "This request id was used for another request.").Because(err)
	case errors.Is(err, store.ErrNotFound):
		return fault.Of(missing).Because(err)
	case errors.Is(err, store.ErrInvalid):
		return fault.New(fault.Invalid, "The request does not fit the conversation.").Because(err)
	}
	s.cfg.Logger.Error("turn failed", "error", err)
	if store.NoSpace(err) {
		return fault.Of(fault.DiskFull).Because(err)
	}
	return fault.New(fault.Internal, "Something went wrong in the host. Nothing was stored.").Because(err)
}
