package api

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/fault"
)

// contentPolicy lets the page load and reach only this host.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; " +
	"img-src 'self' data: blob:; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; " +
	"frame-ancestors 'none'; "

// secure sets the header that every reply has.
func secure(c *fiber.Ctx) error {
	// Older browsers do not count the WebSocket as 'self', so it is named.
	host := c.Get(fiber.HeaderHost)
	connect := "connect-src 'self'"
	if plainHost(host) {
		connect += " ws://" + host + " wss://" + host
	}
	c.Set("Content-Security-Policy", contentPolicy+connect)
	c.Set("X-Content-Type-Options", "nosniff")
	c.Set("Referrer-Policy", "no-referrer")
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	c.Set("Cross-Origin-Resource-Policy", "same-origin")
	c.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	if strings.HasPrefix(c.Path(), "/api/") {
		c.Set(fiber.HeaderCacheControl, "no-store")
	}
	return c.Next()
}

// plainHost tells whether host is a name or address with an optional port and
// nothing that could end a directive.
func plainHost(host string) bool {
	for _, r := range host {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(".-:[]_", r):
		default:
			return false
		}
	}
	return host != ""
}

// checkHost refuses a request whose Host is not this host's. A page of another
// site that makes its own name resolve to this machine (DNS rebinding) comes
// with that name. Only a listener on loopback is checked: elsewhere the session
// cookie, which belongs to the right name, keeps such a page out.
func (s *Server) checkHost(c *fiber.Ctx) error {
	if !s.cfg.LoopbackOnly || isLocal(c) || s.hostAllowed(c.Get(fiber.HeaderHost)) {
		return c.Next()
	}
	return fault.New(fault.Forbidden,
		"This host is not served under that name. If the name is right, list it under allowed_origins in the "+
			"configuration.")
}

func (s *Server) hostAllowed(hostport string) bool {
	host := hostOnly(hostport)
	if host == "" {
		return false
	}
	if slices.ContainsFunc(s.cfg.Hosts, func(h string) bool {
		return strings.EqualFold(h, host) ||
			strings.EqualFold(h, hostport)
	}) {
		return true
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// hostOnly is a Host header without its port and brackets.
func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

// checkOrigin refuses what another site's page asks for: every request that
// changes something, and the WebSocket. A client without Origin is no browser.
func (s *Server) checkOrigin(c *fiber.Ctx) error {
	safe := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead || c.Method() == fiber.MethodOptions
	upgrade := c.Get(fiber.HeaderUpgrade) != ""
	if safe && !upgrade || s.originAllowed(c) {
		return c.Next()
	}
	return fault.New(fault.Forbidden, "The request comes from a page of another site.")
}

func (s *Server) originAllowed(c *fiber.Ctx) bool {
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" {
		site := c.Get("Sec-Fetch-Site")
		return site == "" || site == "same-origin" || site == "none"
	}
	if slices.Contains(s.cfg.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, c.Get(fiber.HeaderHost))
}
