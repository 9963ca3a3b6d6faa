package identity

import (
	"errors"
	"fmt"
)

var (
	// ErrNobody is returned when the principal is nobody and the action wants somebody.
	ErrNobody = errors.New("nobody is signed in")
	// ErrForbidden is returned when such a principal may not do the action, whatever it
	// is done to: it is no operator, it is narrowed to other scopes, or it is the host,
	// which may not do this by itself.
	ErrForbidden = errors.New("this principal may not do this")
	// ErrNotYours is returned when the action is for the owner and the resource is
	// somebody else's, or not there. Callers show it as not found, so that nobody
	// learns that it exists.
	ErrNotYours = errors.New("it belongs to somebody else")
)

// Resource is what an action is done to.
type Resource struct {
	Kind Kind
	// ID names it in the text of a refusal; "" for a list, or for one that is to be made.
	ID string
	// Owner is the id of the user whose it is, "" where it is not known or nobody's. A
	// record that is to be made belongs to the user who makes it.
	Owner string
}

// All is the resource of an action on no one record: a list, or a record that is to be
// made and will belong to nobody.
func (k Kind) All() Resource { return Resource{Kind: k} }

// Authorize tells whether a principal may do an action to a resource: nil where it
// may, else an error that matches ErrNobody, ErrForbidden or ErrNotYours. Who may do
// what stands in one table, Rules. An action that has no rule, or is of another kind of
// resource, is refused. Except ErrNotYours, a refusal does not depend on the resource.
func Authorize(p Principal, a Action, r Resource) error {
	rule, known := rules[a]
	if err := rule.refusal(p, r, known); err != nil {
		return fmt.Errorf("%s by %s: %w", a, p, err)
	}
	return nil
}

// refusal is the bare error.
func (rule Rule) refusal(p Principal, r Resource, known bool) error {
	switch {
	case !known || rule.Kind != r.Kind:
		return ErrForbidden
	case rule.Who == Anybody:
		return nil
	case p.user == "" && p.origin == Host:
		return unless(rule.Host, ErrForbidden)
	case p.user == "":
		return ErrNobody
	case rule.Who == HostOnly, (p.origin == Link) != (rule.Who == LinkHolder), !p.reaches(rule.Scope):
		return ErrForbidden
	}
	switch rule.Who {
	case SignedIn:
		return nil
	case Owner, LinkHolder:
		return unless(p.Owns(r.Owner), ErrNotYours)
	case OwnerOrOperator:
		return unless(p.Owns(r.Owner) || p.Operator(), ErrNotYours)
	case Operators:
		return unless(p.Operator(), ErrForbidden)
	}
	return ErrForbidden
}

func unless(may bool, err error) error {
	if may {
		return nil
	}
	return err
}
