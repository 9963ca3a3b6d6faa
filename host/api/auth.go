package api

import (
	"context"
	"errors"
	"html"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
)

const (
	// cookieName is the session cookie's.
	cookieName = "bulkhead_session"
	// userHeader names whom a local client acts for.
	userHeader = "X-Bulkhead-User"
	// linkLifetime is how long a sign-in link is good for.
	linkLifetime = 24 * time.Hour
)

// caller is who sent a request.
type caller struct {
	identity.Principal
	user store.User
	// cookie is what the browser is signed in with, "" for a local client.
	cookie string
	// request is the id of the request, for a socket that of its handshake.
	request string
}

// callerKey is where the caller of a request is kept.
const callerKey = "caller"

// authenticate lets only those in who have signed in.
func (s *Server) authenticate(c *fiber.Ctx) error {
	who, err := s.callerOf(c)
	if err != nil {
		return err
	}
	who.request = requestOf(c)
	c.Locals(callerKey, who)
	return c.Next()
}

func (s *Server) callerOf(c *fiber.Ctx) (caller, error) {
	if isLocal(c) {
		name := c.Get(userHeader, store.OwnerName)
		user, err := s.cfg.Store.Users().ByName(s.ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			return caller{}, fault.New(fault.UnknownUser, "There is no user of the name "+clip(name, 80)+".")
		}
		return caller{Principal: user.Principal(identity.Command), user: user}, err
	}
	cookie := c.Cookies(cookieName)
	if cookie == "" {
		return caller{}, signedOut()
	}
	user, err := s.cfg.Store.SignIns().UserByCookie(s.ctx, cookie)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrExpired) {
		return caller{}, signedOut()
	}
	return caller{Principal: user.Principal(identity.Cookie), user: user, cookie: cookie}, err
}

func signedOut() *fault.Error {
	return fault.Of(fault.SignedOut)
}

// whoOf returns who sent the request; authenticate has run before.
func whoOf(c *fiber.Ctx) caller { return c.Locals(callerKey).(caller) }

// operatorOnly lets only operators go on. It is a first look, before a body is read: what
// the route does asks identity again.
func operatorOnly(c *fiber.Ctx) error {
	if !whoOf(c).Operator() {
		return fault.Of(fault.Forbidden)
	}
	return c.Next()
}

// mayWatch tells whether a caller may be told of what changes among what is theirs.
func mayWatch(who caller) error {
	whose := identity.Resource{Kind: identity.UserKind, ID: who.UserID(), Owner: who.UserID()}
	return identity.Authorize(who.Principal, identity.WatchEvents, whose)
}

// signIn exchanges a link's token for a cookie. A HEAD request, with which
// programs look at links, leaves the link good.
func (s *Server) signIn(c *fiber.Ctx) error {
	if c.Method() != fiber.MethodGet {
		return fault.Of(fault.MethodNotAllowed)
	}
	cookie, _, err := s.cfg.Store.SignIns().RedeemLink(s.ctx, c.Query("token"))
	switch {
	case errors.Is(err, store.ErrBadLink):
		return sorry(c, "This sign-in link is not valid, or it was used already. Ask an operator for a new one; bulkhead user link NAME prints it.")
	case errors.Is(err, store.ErrExpired):
		return sorry(c, "This sign-in link has expired. Ask an operator for a new one; bulkhead user link NAME prints it.")
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
		`<meta name="viewport" content="width=device-width"><title>Bulkhead</title><p>` + html.EscapeString(sentence) + `</p></html>`)
}

// signOut takes the cookie back and closes the connections it opened.
func (s *Server) signOut(c *fiber.Ctx) error {
	who := whoOf(c)
	if who.cookie != "" {
		if err := s.cfg.Store.SignIns().RevokeCookie(s.ctx, who.Principal, who.cookie); err != nil {
			return err
		}
		s.closeSockets(func(k caller) bool { return k.cookie == who.cookie })
	}
	s.setCookie(c, "", -1)
	return c.SendStatus(fiber.StatusNoContent)
}

// Link makes a one-time sign-in link for a user. It is for operators and the host.
func (s *Server) Link(ctx context.Context, p identity.Principal, user store.User) (Link, error) {
	token, expires, err := s.cfg.Store.SignIns().CreateLink(ctx, p, user.ID, linkLifetime)
	if err != nil {
		return Link{}, err
	}
	return Link{URL: s.cfg.BaseURL + "/sign-in?token=" + token, ExpiresAt: expires}, nil
}

// Link is a one-time sign-in link.
type Link struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}
