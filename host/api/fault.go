package api

import (
	"errors"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/turn"
)

// Fault is an error as a client gets it, over HTTP as {"error":{…}} with Status
// and over the WebSocket in a nack.
type Fault struct {
	// Status is the HTTP status.
	Status int `json:"-"`
	// Code is one of a closed list of words, for programs.
	Code string `json:"code"`
	// Message is a sentence for a person.
	Message string `json:"message"`
	// Run is the run that is in the way, with code busy.
	Run string `json:"run,omitempty"`
	// Field is the setting or the field that is wrong, where it is one.
	Field string `json:"field,omitempty"`
	// Request is the id of the request over HTTP, by which the log knows it.
	Request string `json:"request_id,omitempty"`
}

// Error implements error.
func (f *Fault) Error() string { return f.Message }

// The codes that this package gives; those of a turn come with turn.Error.
const (
	codeInvalid     = "invalid"
	codeUnsupported = "unsupported"
	codeTooLarge    = "too_large"
	codeSignedOut   = "signed_out"
	codeForbidden   = "forbidden"
	codeNotFound    = "not_found"
	codeConflict    = "conflict"
	codeInternal    = "internal"
	codeFull        = "full"
	codeDiskFull    = turn.CodeDiskFull

	// CodeUnknownPlugin, CodeNotSeen and CodeBadConfig are for PluginFault.
	CodeUnknownPlugin = "unknown_plugin"
	CodeNotSeen       = codeConflict
	CodeBadConfig     = codeInvalid
)

// statusOf gives the HTTP status for each code that may reach a client.
var statusOf = map[string]int{
	codeInvalid:        http.StatusBadRequest,
	codeUnsupported:    http.StatusBadRequest,
	codeTooLarge:       http.StatusRequestEntityTooLarge,
	codeSignedOut:      http.StatusUnauthorized,
	codeForbidden:      http.StatusForbidden,
	codeNotFound:       http.StatusNotFound,
	codeConflict:       http.StatusConflict,
	codeInternal:       http.StatusInternalServerError,
	"unknown_session":  http.StatusNotFound,
	"unknown_message":  http.StatusNotFound,
	"unknown_run":      http.StatusNotFound,
	"unknown_document": http.StatusNotFound,
	"unknown_user":     http.StatusNotFound,
	"unknown_agent":    http.StatusNotFound,
	"unknown_model":    http.StatusBadRequest,
	"unknown_tool":     http.StatusBadRequest,
	"unknown_file":     http.StatusNotFound,
	CodeUnknownPlugin:  http.StatusNotFound,
	"unknown_memory":   http.StatusNotFound,
	"not_text":         http.StatusUnsupportedMediaType,
	"damaged_picture":  http.StatusUnsupportedMediaType,
	codeFull:           http.StatusConflict,
	codeDiskFull:       http.StatusInsufficientStorage,
	"busy":             http.StatusConflict,
	turn.CodeRefused:   http.StatusForbidden,
}

func fault(code, message string) *Fault {
	status, ok := statusOf[code]
	if !ok {
		status = http.StatusInternalServerError
	}
	return &Fault{Status: status, Code: code, Message: message}
}

// PluginFault is an error of Plugins that a client is told of. code is one of the exported
// ones.
func PluginFault(code, message string) *Fault { return fault(code, message) }

func invalid(message string) *Fault { return fault(codeInvalid, message) }

// internalFault is what a client is told of an error that it cannot act on; the
// error itself goes to the log.
func internalFault() *Fault {
	return fault(codeInternal, "Something went wrong in the host. The host's log says more.")
}

// sendFault answers with f.
func sendFault(c *fiber.Ctx, f *Fault) error {
	return c.Status(f.Status).JSON(struct {
		Error *Fault `json:"error"`
	}{f})
}

// fiberFault reads an error of Fiber's own, such as of an unknown route.
func fiberFault(err error) (*Fault, bool) {
	var e *fiber.Error
	if !errors.As(err, &e) {
		return nil, false
	}
	switch e.Code {
	case http.StatusNotFound:
		return fault(codeNotFound, "There is nothing at this address."), true
	case http.StatusMethodNotAllowed:
		return &Fault{Status: e.Code, Code: codeInvalid, Message: "This address does not take that method."}, true
	case http.StatusRequestEntityTooLarge:
		return fault(codeTooLarge, "The request is too large."), true
	default:
		return &Fault{Status: e.Code, Code: codeInvalid, Message: "The request cannot be read."}, e.Code < 500
	}
}
