package llm

import "github.com/bulkhead-host/bulkhead/host/packet"

// Error is how a request to a model fails: a code and sentence for the person,
// and a text for the log. No part of it ever holds a key.
type Error struct {
	// Code is one of the model_… codes, context_too_long or refused.
	Code packet.Code
	// Message is the sentence for a person. It may name the endpoint's host and
	// port; it never holds a key, a path of this machine or a stack.
	Message string
	// Retryable tells whether the same request may succeed later unchanged.
	Retryable bool
	// Status is the HTTP status, 0 where there was none.
	Status int
	// Err is the cause, for the log only.
	Err error
}

// NewError returns an error with the code's own flag, and its own sentence where
// message is empty.
func NewError(code packet.Code, message string, cause error) *Error {
	info := packet.Codes[code]
	if message == "" {
		message = info.Message
	}
	return &Error{Code: code, Message: message, Retryable: info.Retryable, Err: cause}
}

// Error implements error with the text for the log.
func (e *Error) Error() string {
	if e.Err == nil {
		return string(e.Code) + ": " + e.Message
	}
	return string(e.Code) + ": " + e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
