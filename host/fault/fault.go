// Package fault is the one catalogue of what a host answers when it does not
// take a request: the code, its HTTP status, the code that closes a WebSocket
// over it, a sentence for a person and whether to try again.
//
// A room returns an Error with a code and, where it knows better than the
// catalogue, its own sentence; the api sends it, over HTTP as {"error":{…}} and
// over the WebSocket in a nack. What happens to a run once it has begun is told
// in packets, whose codes are host/packet's. The package imports no room.
package fault

import (
	"encoding/json"
	"fmt"
)

// Error is why a request was not taken. Its JSON is what a client gets.
type Error struct {
	// Code is for programs.
	Code Code `json:"code"`
	// Message is a sentence for a person; "" stands for the code's own.
	Message string `json:"message"`
	// Run is the run that is in the way, with Busy.
	Run string `json:"run,omitempty"`
	// Field is the setting or the field that is wrong, where it is one.
	Field string `json:"field,omitempty"`
	// Request is the id of the request over HTTP, by which the log knows it.
	Request string `json:"request_id,omitempty"`
	// Err is the cause, for the log; it does not reach a client.
	Err error `json:"-"`
}

// Of returns the code's own sentence.
func Of(code Code) *Error { return New(code, "") }

// New returns an error with a sentence of its own, or with the code's where
// message is empty.
func New(code Code, message string) *Error {
	if message == "" {
		message = code.Info().Message
	}
	return &Error{Code: code, Message: message}
}

// At returns an error that is about one setting or field.
func At(code Code, field, message string) *Error {
	e := New(code, message)
	e.Field = field
	return e
}

// Because returns e with its cause.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}

// Status returns the HTTP status of the error's code.
func (e *Error) Status() int { return e.Code.Status() }

// Error implements error. The text is for the log.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return string(e.Code) + ": " + e.Message
}

// Unwrap returns the cause, nil for none.
func (e *Error) Unwrap() error { return e.Err }

// MarshalJSON implements json.Marshaler. It adds what is fixed about the code.
func (e Error) MarshalJSON() ([]byte, error) {
	type fields Error
	if e.Message == "" {
		e.Message = e.Code.Info().Message
	}
	return json.Marshal(struct {
		fields
		Retryable bool `json:"retryable,omitempty"`
	}{fields(e), e.Code.Info().Retryable})
}
