package wasmbin

import (
	"errors"
	"strings"
)

// The names that belong to the host: a module may neither import from MeterModule
// nor export a name that begins with ReservedPrefix.
const (
	MeterModule    = "bulkhead:host/meter"
	ReservedPrefix = "bulkhead:"
)

// Validate checks the code of a module, instruction by instruction, by the algorithm
// of the specification's appendix (a stack of operand types and a stack of control
// frames), and that the module uses no name that belongs to the host. A module that
// passed Read and Validate is valid WebAssembly 2.0.
//
// It is for original modules, before anything is rewritten: an index that names
// nothing in the original could name what rewriting adds. m is the summary that Read
// returned for the same bytes. Errors are *Error.
func Validate(m *Module) error {
	if err := reserved(m); err != nil {
		return err
	}
	return ValidateCode(m)
}

// ValidateCode is Validate without the check of names: it is for a module that was
// rewritten.
func ValidateCode(m *Module) error {
	for _, s := range m.sections {
		if s.ID == SectionCode {
			return validateCode(m, s.Data)
		}
	}
	return nil
}

func reserved(m *Module) error {
	for _, im := range m.Imports {
		if im.Module == "" {
			return unsupported("The module imports %q from a module without a name, which does not exist here.",
				im.Name)
		}
		if im.Module == MeterModule {
			return unsupported("The module imports %q.%q, which does not exist here: that name belongs to the host.",
				im.Module, im.Name)
		}
	}
	for _, e := range m.Exports {
		if strings.HasPrefix(e.Name, ReservedPrefix) {
			return unsupported("The module exports %q; names that begin with %q belong to the host. Rename it.", e.Name,
				ReservedPrefix)
		}
	}
	return nil
}

func validateCode(m *Module, data []byte) error {
	v := &validator{m: m, limits: m.limits}
	i := 0
	for body, err := range Bodies(data) {
		if err == nil {
			err = v.function(i, body)
		}
		if err != nil {
			return inFunction(err, len(m.Imports)+i)
		}
		i++
	}
	return nil
}

// inFunction says in which function a module is invalid.
func inFunction(err error, index int) error {
	var e *Error
	if errors.As(err, &e) && e.Kind == Invalid {
		return invalid("in the function %d, %s", index,
			strings.TrimSuffix(strings.TrimPrefix(e.Message, invalid("").Message[:len(invalid("").Message)-1]), "."))
	}
	return err
}
