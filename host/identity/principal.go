// Package identity says who asks, and what they may do. A Principal is made
// here and nowhere else, always with where it came from; Authorize is the one
// place that tells whether a principal may do something to something.
//
// Accounts and the proof that somebody holds one come in, principals and
// refusals go out. It must not know storage, transports or what the resources
// hold.
package identity

import "slices"

// Role is what an account is on this host.
type Role string

// Operator manages the host: users, models, agents, plugins, grants and audit.
// It opens nobody's conversations, documents, memories or files.
const Operator Role = "operator"

// Origin is how a principal came to be.
type Origin string

// The origins.
const (
	// Cookie is a browser that signed in.
	Cookie Origin = "cookie"
	// Link is a one-time sign-in link while it is being redeemed.
	Link Origin = "link"
	// Command is a command on this machine, on the data folder or through its
	// socket: whoever may open the folder may act as anybody in it.
	Command Origin = "command"
	// Key is an API key.
	Key Origin = "key"
	// Host is the host itself, acting for somebody; Reason says why.
	Host Origin = "host"
)

// Scope narrows what a principal may do: with scopes, only what a rule gives to one of
// them, and never more than its account may. Without scopes it may do all that its account may.
type Scope string

// Principal is who asks. The zero value is nobody: it owns nothing and may do
// nothing that is not open to all. It is a value, safe to copy and for concurrent
// use; two principals are the same person where their UserIDs are.
type Principal struct {
	user   string
	roles  []Role
	scopes []Scope
	origin Origin
	reason string
}

// Account is what is known of somebody who may sign in.
type Account struct {
	// ID is the user's id, never empty.
	ID    string
	Roles []Role
}

// New returns the principal of an account that has shown who it is by origin.
// An account without an id makes nobody.
func New(a Account, origin Origin, scopes ...Scope) Principal {
	if a.ID == "" {
		return Principal{}
	}
	return Principal{user: a.ID, roles: slices.Clone(a.Roles), scopes: slices.Clone(scopes), origin: origin}
}

// ForUser returns the host acting for a user, without the user's roles: what a
// run, a plugin's call or an index does on somebody's behalf. reason says what
// for, in a few words; it stands in logs and audit. An empty user makes nobody.
func ForUser(user, reason string) Principal {
	if user == "" {
		return Principal{}
	}
	return Principal{user: user, origin: Host, reason: reason}
}

// ForHost returns the host acting for itself. It has no role and owns nobody's
// records: what it may do is what the rules give to the host (Rule.Host). reason is as in ForUser.
func ForHost(reason string) Principal { return Principal{origin: Host, reason: reason} }

// UserID returns the id of the user, "" for nobody and for the host itself.
func (p Principal) UserID() string { return p.user }

// Has tells whether the principal has a role.
func (p Principal) Has(r Role) bool { return slices.Contains(p.roles, r) }

// Operator tells whether the principal manages the host.
func (p Principal) Operator() bool { return p.Has(Operator) }

// Origin returns how the principal came to be, "" for nobody.
func (p Principal) Origin() Origin { return p.origin }

// Reason returns why the host acts, "" for any other origin.
func (p Principal) Reason() string { return p.reason }

// Owns tells whether a record of that owner is the principal's. Nobody and the
// host itself own nothing.
func (p Principal) Owns(owner string) bool { return p.user != "" && p.user == owner }

// reaches tells whether the principal's scopes hold that of a rule.
func (p Principal) reaches(s Scope) bool {
	return len(p.scopes) == 0 || s == "" || slices.Contains(p.scopes, s)
}

// String names the principal for a log: who it is, and how it came.
func (p Principal) String() string {
	switch {
	case p.origin == Host && p.user == "":
		return "the host (" + p.reason + ")"
	case p.origin == Host:
		return "the host for " + p.user + " (" + p.reason + ")"
	case p.user == "":
		return "nobody"
	}
	return p.user + " (" + string(p.origin) + ")"
}
