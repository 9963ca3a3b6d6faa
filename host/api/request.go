package api

import (
	"bytes"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
)

const (
	// requestHeader carries the id of one request, in and out.
	requestHeader = "X-Request-ID"
	// maxRequestID bounds an id that a client chose, in bytes.
	maxRequestID = 128
)

// track gives each request an id, answers its error, and counts and logs it.
func (s *Server) track(c *fiber.Ctx) error {
	id := c.Get(requestHeader)
	if !plainID(id) {
		id = uuid.NewString()
	}
	caller.SetRequest(c, id)
	c.Set(requestHeader, id)
	began := s.cfg.Now()
	if err := c.Next(); err != nil {
		if err := s.onError(c, err); err != nil {
			return err
		}
	}
	if c.Get(fiber.HeaderUpgrade) != "" {
		return nil // a socket logs its own end
	}
	took := s.cfg.Now().Sub(began)
	if s.cfg.Metrics != nil {
		s.cfg.Metrics.Request(c.Method(), c.Response().StatusCode(), took)
	}
	// The query is left out: a sign-in link has its token there.
	s.cfg.Logger.Info("request", "request", id, "method", c.Method(), "path", frame.Clip(c.Path(), 200),
		"status", c.Response().StatusCode(), "took", took.Round(time.Microsecond))
	return nil
}

// plainID tells whether an id may stand in a log and a header as it is.
func plainID(id string) bool {
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}

// metrics writes the host's metrics for those on this machine and for operators.
func (s *Server) metrics(c *fiber.Ctx) error {
	if s.cfg.Metrics == nil {
		return fault.Of(fault.NotFound)
	}
	if !isLocal(c) && !fromThisMachine(c) {
		who, err := s.callerOf(c)
		if err != nil {
			return err
		}
		if err := identity.Authorize(who.Principal, identity.ReadMetrics, identity.HostKind.All()); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	s.cfg.Metrics.Write(&text)
	c.Set(fiber.HeaderContentType, "text/plain; version=0.0.4; charset=utf-8")
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Send(text.Bytes())
}

// fromThisMachine tells whether the client is on this machine. What a proxy on
// it hands on is not: it says so in a header.
func fromThisMachine(c *fiber.Ctx) bool {
	for _, h := range []string{fiber.HeaderXForwardedFor, "Forwarded", "X-Real-IP", "Via"} {
		if c.Get(h) != "" {
			return false
		}
	}
	addr, ok := c.Context().RemoteAddr().(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}
