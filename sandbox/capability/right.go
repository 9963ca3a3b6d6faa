package capability

import (
	"encoding/json"
	"fmt"
)

// Grant is an operator's word on one capability of one plugin.
type Grant struct {
	Capability string `json:"capability"`
	Mode       Mode   `json:"mode"`
	// Params narrows what the manifest asks for, in the same shape; empty for all
	// of it.
	Params json.RawMessage `json:"params,omitempty"`
}

// Grants are all grants of one plugin, by capability. A capability that is
// missing has its default mode.
type Grants map[string]Grant

// ParseGrants reads a list of grants, as a grant file holds them:
// [{"capability":"knowledge","mode":"allow"}]. It returns a *Fault that names the
// field when the format is broken.
func ParseGrants(data []byte) (Grants, error) {
	var list []Grant
	if err := decodeStrict("", data, &list); err != nil {
		return nil, fmt.Errorf("read grants: %w", err)
	}
	grants := Grants{}
	for i, g := range list {
		if err := g.Check(); err != nil {
			return nil, fmt.Errorf("read grants: entry %d: %w", i+1, err)
		}
		if _, twice := grants[g.Capability]; twice {
			return nil, fmt.Errorf("read grants: %w",
				fault(fmt.Sprintf("[%d].capability", i), "%q is given twice", g.Capability))
		}
		grants[g.Capability] = g
	}
	return grants, nil
}

// Check returns a *Fault when the grant names no capability, has no valid mode
// or has parameters that the capability does not know.
func (g Grant) Check() error {
	if _, err := parseParams("params", g.Capability, g.Params); err != nil {
		return err
	}
	if !g.Mode.Valid() {
		return fault("mode", "%q is not one of allow, ask, deny", g.Mode)
	}
	return nil
}

// GrantAll returns grants that equal a manifest: all that it asks for, allowed.
func GrantAll(m Manifest) Grants {
	grants := Grants{}
	for name, params := range m.Capabilities {
		grants[name] = Grant{Capability: name, Mode: Allow, Params: params}
	}
	return grants
}

// UserRights is what a user may do at all: the widest mode for a capability. Nil
// allows everything; rights on single documents are the host's to apply.
type UserRights func(capability string) Mode

// Right is what a plugin may do with one capability now.
type Right struct {
	Capability string
	Mode       Mode
	// Params is what manifest and grant both allow; nil when Mode is Deny.
	Params Params
	// Reason says in a sentence for the guest why the mode is Deny, else "".
	Reason string
}

// Rights are all rights of a plugin for one user at one moment.
type Rights map[string]Right

// Of returns the right to a capability; the mode is Deny where there is none.
func (r Rights) Of(capability string) Right {
	if right, ok := r[capability]; ok {
		return right
	}
	return unasked(capability)
}

func unasked(capability string) Right {
	reason := "The manifest does not ask for the capability " + capability + "."
	return Right{Capability: capability, Mode: Deny, Reason: reason}
}

// RightTo returns manifest ∩ grants ∩ user for one capability; of the grants only the one of
// that capability counts. The mode is Deny for a name that the catalogue does not have.
func RightTo(name string, m Manifest, grants Grants, user UserRights) Right {
	c, known := Lookup(name)
	if !known {
		return unasked(name)
	}
	return effective(c, m, grants, user)
}

// Effective returns manifest ∩ grants ∩ user. It holds every capability of the
// catalogue.
func Effective(m Manifest, grants Grants, user UserRights) Rights {
	rights := make(Rights, len(catalogue))
	for _, c := range catalogue {
		rights[c.Name] = effective(c, m, grants, user)
	}
	return rights
}

func effective(c Capability, m Manifest, grants Grants, user UserRights) Right {
	deny := func(format string, args ...any) Right {
		return Right{Capability: c.Name, Mode: Deny, Reason: fmt.Sprintf(format, args...)}
	}
	params, asked := m.Asks(c.Name)
	if !asked {
		return deny("The manifest does not ask for the capability %s.", c.Name)
	}
	grant, granted := grants[c.Name]
	mode := c.Default
	switch {
	case granted:
		mode = grant.Mode
		given, err := parseParams("params", c.Name, grant.Params)
		if err != nil {
			return deny("The grant of the capability %s cannot be read.", c.Name)
		}
		params = narrow(m, params, given)
	case m.Implicit:
		return deny("The capability %s was not granted.", c.Name)
	}
	if mode.orDeny() == Deny {
		return deny("The capability %s was not granted.", c.Name)
	}
	if user != nil {
		if mode = mode.Stricter(user(c.Name)); mode == Deny {
			return deny("The user may not use the capability %s.", c.Name)
		}
	}
	if params.Empty() {
		return deny("Manifest and grant of the capability %s have nothing in common.", c.Name)
	}
	return Right{Capability: c.Name, Mode: mode, Params: params}
}

// narrow combines what is asked with what is given; for a module without a
// manifest the grant stands alone.
func narrow(m Manifest, asked, given Params) Params {
	if m.Implicit {
		return given
	}
	return asked.Narrow(given)
}
