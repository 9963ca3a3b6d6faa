// Package caller says who sent a request, to those who handle it.
//
// It must not know how somebody signs in.
package caller

import (
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/gofiber/fiber/v2"
)

// Caller is who sent a request.
type Caller struct {
	identity.Principal
	User store.User
	// Cookie is what the browser is signed in with, "" for a local client.
	Cookie string
	// Request is the id of the request, for a socket that of its handshake.
	Request string
}

// callerKey is where the caller of a request is kept.
const callerKey = "caller"

// requestKey is where the id of a request is kept.
const requestKey = "request"

// Enter notes who sent the request.
func (who Caller) Enter(c *fiber.Ctx) { c.Locals(callerKey, who) }

// Of returns who sent the request; authenticate has run before.
func Of(c *fiber.Ctx) Caller { return c.Locals(callerKey).(Caller) }

// MayWatch tells whether the caller may be told of what changes among what is theirs.
func (who Caller) MayWatch() error {
	whose := identity.Resource{Kind: identity.UserKind, ID: who.UserID(), Owner: who.UserID()}
	return identity.Authorize(who.Principal, identity.WatchEvents, whose)
}

// RequestOf is the id of the request, for the log and the client.
func RequestOf(c *fiber.Ctx) string {
	id, _ := c.Locals(requestKey).(string) // "" where track has not run
	return id
}

// SetRequest notes the id of the request.
func SetRequest(c *fiber.Ctx, id string) { c.Locals(requestKey, id) }
