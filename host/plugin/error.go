package plugin

import "github.com/bulkhead-host/bulkhead/host/fault"

// Kind says what is wrong with what was asked of installed plugins.
type Kind string

// The kinds of an Error.
const (
	// UnknownPlugin: no plugin of that name is installed.
	UnknownPlugin Kind = "unknown_plugin"
	// BadConfig: the configuration that a plugin was to get is beyond its bounds.
	BadConfig Kind = "bad_config"
	// NotSeen: the tools that are held are not those that somebody saw.
	NotSeen Kind = "not_seen"
)

// Error is returned when an operator asks what cannot be done. What is wrong with a module
// is a guest.Error, and what goes wrong inside a call a tool.Failure.
type Error struct {
	Kind Kind
	// Message is a sentence or two for a person: what was found, what to do.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// faults are the codes of the kinds.
var faults = map[Kind]fault.Code{UnknownPlugin: fault.UnknownPlugin, NotSeen: fault.Conflict, BadConfig: fault.Invalid}

// As lets errors.As find what a client is told, a *fault.Error, in an Error.
func (e *Error) As(target any) bool {
	told, wanted := target.(**fault.Error)
	if !wanted {
		return false
	}
	*told = fault.New(faults[e.Kind], e.Message)
	return true
}
