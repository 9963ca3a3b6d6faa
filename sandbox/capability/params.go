package capability

import (
	"fmt"
	"slices"
	"strings"
)

// Params are the parameters of one capability: in a manifest what is asked for,
// in a grant what is given. A zero field does not narrow. Implementations are
// the pointer types of this package.
type Params interface {
	// Narrow returns what both allow. The other value has the same type. Neither
	// is changed.
	Narrow(other Params) Params
	// Empty tells that nothing is left of the right, as of two lists that share
	// no entry.
	Empty() bool
	// Describe says in a few plain words what the parameters reach, "" when they
	// do not narrow.
	Describe() string

	check(path string) error
}

// Set is a list where nil means everything, and a list that is not nil names
// all that is reached. "*" in it also means everything.
type Set []string

func (s Set) any() bool { return s == nil || slices.Contains(s, "*") }

func (s Set) has(v string) bool { return s.any() || slices.Contains(s, v) }

func (s Set) and(o Set) Set {
	switch {
	case s.any():
		return slices.Clone(o)
	case o.any():
		return slices.Clone(s)
	}
	both := Set{}
	for _, v := range s {
		if slices.Contains(o, v) {
			both = append(both, v)
		}
	}
	return both
}

func (s Set) describe(what string) string {
	if s.any() {
		return ""
	}
	if len(s) == 0 {
		return "no " + what
	}
	return what + " " + strings.Join(s, ", ")
}

// words lists the entries in plain words, of[entry] each; "" where the set does
// not narrow.
func (s Set) words(of map[string]string) string {
	if s.any() {
		return ""
	}
	if len(s) == 0 {
		return "none of it"
	}
	said := make([]string, len(s))
	for i, v := range s {
		said[i] = of[v]
	}
	return strings.Join(said, ", ")
}

// access says in plain words what a set of read and write leaves; "" where both
// are allowed.
func (s Set) access() string {
	switch reads, writes := s.has("read"), s.has("write"); {
	case reads && writes:
		return ""
	case reads:
		return "only to read"
	case writes:
		return "only to write"
	}
	return "neither to read nor to write"
}

func (s Set) checkIn(path string, words ...string) error {
	for i, v := range s {
		if !slices.Contains(words, v) {
			return fault(fmt.Sprintf("%s[%d]", path, i), "%q is not one of %s", v, strings.Join(words, ", "))
		}
	}
	return nil
}

func (s Set) checkFilled(path string) error {
	for i, v := range s {
		if v == "" {
			return fault(fmt.Sprintf("%s[%d]", path, i), "an empty name")
		}
	}
	return nil
}

// less returns the smaller of two caps, where 0 is no cap.
func less(a, b int64) int64 {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// stricter returns the word that comes first in order; "" is no narrowing.
func stricter(a, b string, order ...string) string {
	for _, w := range order {
		if a == w || b == w {
			return w
		}
	}
	return ""
}

func notNegative(path string, n int64) error {
	if n < 0 {
		return fault(path, "%d is below 0", n)
	}
	return nil
}

func oneOf(path, v string, words ...string) error {
	if v == "" || slices.Contains(words, v) {
		return nil
	}
	return fault(path, "%q is not one of %s", v, strings.Join(words, ", "))
}

// first returns the first error that is not nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func bytesText(what string, n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d bytes", what, n)
}

func joined(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "; ")
}
