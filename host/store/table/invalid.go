package table

import (
	"errors"
	"fmt"
)

// ErrInvalid is returned when a value cannot be stored as it is.
var ErrInvalid = errors.New("invalid")

// FieldError is returned when one field of a record cannot be kept as it is. It is
// an ErrInvalid.
type FieldError struct {
	// Field is the name that the field has in JSON.
	Field string
	// Rule says what the field has to be, as a clause without a full stop.
	Rule string
}

// Error implements error.
func (e *FieldError) Error() string { return ErrInvalid.Error() + ": " + e.Rule }

// Unwrap returns ErrInvalid.
func (e *FieldError) Unwrap() error { return ErrInvalid }

// InvalidField makes a FieldError.
func InvalidField(field, format string, args ...any) error {
	return &FieldError{Field: field, Rule: fmt.Sprintf(format, args...)}
}
