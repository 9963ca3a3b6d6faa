package api

import (
	"errors"
	"html"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
)

const (
	// cookieName is the session cookie's.
	cookieName = "bulkhead_session"
	// userHeader names whom a local client acts for.
	userHeader = "X-Bulkhead-User"
)

// authenticate lets only those in who have signed in.
func (s *Server) authenticate(c *fiber.Ctx) error {
	who, err := s.callerOf(c)
	if err != nil {
		return err
	}
	who.Request = caller.RequestOf(c)
	who.Enter(c)
	return c.Next()
}

func (s *Server) callerOf(c *fiber.Ctx) (caller.Caller, error) {
	if isLocal(c) {
		name := c.Get(userHeader, store.OwnerName)
		user, err := s.cfg.Records.Users.ByName(s.ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			return caller.Caller{}, fault.New(fault.UnknownUser,
				"There is no user of the name "+frame.Clip(name, 80)+".")
		}
		return caller.Caller{Principal: user.Principal(identity.Command), User: user}, err
	}
	cookie := c.Cookies(cookieName)
	if cookie == "" {
		return caller.Caller{}, signedOut()
	}
	user, err := s.cfg.Doors.UserByCookie(s.ctx, cookie)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrExpired) {
		return caller.Caller{}, signedOut()
	}
	return caller.Caller{Principal: user.Principal(identity.Cookie), User: user, Cookie: cookie}, err
}

func signedOut() *fault.Error {
	return fault.Of(fault.SignedOut)
}

// operatorOnly lets only operators go on. It is a first look, before a body is read: what
// the route does asks identity again.
func operatorOnly(c *fiber.Ctx) error {
	if !caller.Of(c).Operator() {
		return fault.Of(fault.Forbidden)
	}
	return c.Next()
}

// signIn exchanges a link's token for a cookie. A HEAD request, with which
// programs look at links, leaves the link good.
func (s *Server) signIn(c *fiber.Ctx) error {
	if c.Method() != fiber.MethodGet {
		return fault.Of(fault.MethodNotAllowed)
	}
	cookie, _, err := s.cfg.Doors.RedeemLink(s.ctx, c.Query("token"))
	switch {
	case errors.Is(err, store.ErrBadLink):
		return sorry(c, "This sign-in link is not valid, or it was used already. Ask an operator for a new one; "+
			"bulkhead user link NAME prints it.")
	case errors.Is(err, store.ErrExpired):
		return sorry(c, "This sign-in link has expired. Ask an operator for a new one; bulkhead user link NAME "+
			"prints it.")
	case err != nil:
		return err
	}
	if s.cfg.SignedIn != nil {
		s.cfg.SignedIn()
	}
	s.setCookie(c, cookie, int(store.CookieLifetime/time.Second))
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Redirect("/", fiber.StatusSeeOther)
}

// setCookie sets the session cookie; a negative age in seconds takes it away.
func (s *Server) setCookie(c *fiber.Ctx, value string, age int) {
	cookie := &fiber.Cookie{Name: cookieName, Value: value, Path: "/", MaxAge: age,
		HTTPOnly: true, SameSite: fiber.CookieSameSiteStrictMode, Secure: c.Protocol() == "https"}
	if age < 0 {
		cookie.MaxAge, cookie.Expires = 0, time.Unix(1, 0)
	}
	c.Cookie(cookie)
}

// sorry is a page with one sentence.
func sorry(c *fiber.Ctx, sentence string) error {
	c.Set(fiber.HeaderContentType, mediaTypes[".html"])
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Status(fault.Forbidden.Status()).SendString(`<!doctype html><html lang="en"><meta charset="utf-8">` +
		`<meta name="viewport" content="width=device-width"><title>Bulkhead</title><p>` + html.EscapeString(sentence) +
		`</p></html>`)
}

// signOut takes the cookie back and closes the connections it opened.
func (s *Server) signOut(c *fiber.Ctx) error {
	who := caller.Of(c)
	if who.Cookie != "" {
		if err := s.cfg.Doors.RevokeCookie(s.ctx, who.Principal, who.Cookie); err != nil {
			return err
		}
		s.closeSockets(func(k caller.Caller) bool { return k.Cookie == who.Cookie })
	}
	s.setCookie(c, "", -1)
	return c.SendStatus(fiber.StatusNoContent)
}
