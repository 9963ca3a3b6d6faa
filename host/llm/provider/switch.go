package provider

import "fmt"

// Switch is a setting that may be left to what is found out: "auto" (or ""), "yes"
// or "no".
type Switch string

// The positions of a Switch.
const (
	Auto Switch = "auto"
	Yes  Switch = "yes"
	No   Switch = "no"
)

// Or returns what the switch says, found where it leaves the matter open.
func (s Switch) Or(found bool) bool {
	switch s {
	case Yes:
		return true
	case No:
		return false
	}
	return found
}

// Check returns a sentence about a switch that is none of the three.
func (s Switch) Check(name string) error {
	switch s {
	case "", Auto, Yes, No:
		return nil
	}
	return fmt.Errorf("%s must be one of auto, yes, no", name)
}
