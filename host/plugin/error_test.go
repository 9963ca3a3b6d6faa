package plugin

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/fault"
)

func TestAClientIsToldOfTheKindsThatItCanMeet(t *testing.T) {
	for kind, code := range map[Kind]fault.Code{
		UnknownPlugin: fault.UnknownPlugin, NotSeen: fault.Conflict, BadConfig: fault.Invalid,
	} {
		err := fmt.Errorf("configure: %w", &Error{Kind: kind, Message: "So it is."})
		var told *fault.Error
		if !errors.As(err, &told) || told.Code != code || told.Message != "So it is." {
			t.Errorf("%s: %v", kind, told)
		}
		var own *Error
		if !errors.As(err, &own) || own.Kind != kind {
			t.Errorf("%s: its kind is lost", kind)
		}
	}
}
