package abi

import (
	"errors"
	"fmt"
)

// ErrNeedsCall ends an initialisation that runs ahead of any call and asks for
// something that only a call has: configuration, input, variables or a host
// function. The instance is then made within the call.
var ErrNeedsCall = errors.New("initialisation needs a call")

// ErrOutput ends a command that writes more than it may.
var ErrOutput = errors.New("the output is too large")

// errInterrupted ends a call whose context is done, when it asks for fuel or calls a
// host function.
var errInterrupted = errors.New("the call was stopped")

// Fault is what a host function ends a call with when the guest used it wrongly:
// an offset outside of memory, a request that is not JSON. Message is a sentence.
type Fault struct{ Message string }

// Error implements error.
func (f *Fault) Error() string { return f.Message }

func fault(format string, args ...any) *Fault {
	return &Fault{Message: fmt.Sprintf(format, args...)}
}

// HostPanic is what ends a call in which a host function panicked. Value and Stack
// are for the log; neither may reach a guest, a model or a person.
type HostPanic struct {
	Function string
	Value    any
	Stack    []byte
}

// Error implements error. It does not show the panic's value.
func (p *HostPanic) Error() string {
	return fmt.Sprintf("the host function %s failed inside the host", p.Function)
}
