package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/fault"
)

// apiRoot is where the programs' part of the address space begins.
const apiRoot = "/api/v1"

// route lays out every address.
func (s *Server) route(r *rest.Resources) {
	s.app.Use(s.track, s.recoverPanic(), secure, s.checkHost)
	s.app.Get("/healthz", func(c *fiber.Ctx) error { return c.SendString("ok\n") })
	s.app.Get("/readyz", s.readyz)
	s.app.Get("/metrics", s.metrics)
	s.app.Get("/sign-in", s.signIn)

	api := s.app.Group(apiRoot, s.checkOrigin, s.authenticate)
	api.Get("/ws", s.webSocket)
	api.Get("/events", r.Changes)
	api.Post("/sign-out", s.signOut)
	api.Get("/me", r.Users.Me)
	api.Get("/models", r.Models.List)
	api.Get("/tools", r.Tools.List)

	api.Get("/sessions", r.Sessions.List)
	api.Get("/sessions/:id", r.Sessions.Get)
	api.Patch("/sessions/:id", r.Sessions.Patch)
	api.Delete("/sessions/:id", r.Sessions.Delete)
	api.Post("/sessions/:id/messages", r.Messages.Post)

	api.Get("/runs/:run", r.Runs.Get)
	api.Post("/runs/:run/stop", r.Runs.Stop)
	api.Get("/runs/:run/packets", r.Runs.Packets)
	api.Get("/runs/:run/events", r.Runs.Events)

	api.Get("/memories", r.Memories.List)
	api.Post("/memories", r.Memories.Post)
	api.Patch("/memories/:id", r.Memories.Patch)
	api.Delete("/memories/:id", r.Memories.Delete)

	api.Get("/agents", r.Agents.List)

	api.Get("/files", r.Files.List)
	api.Post("/files", r.Files.Post)
	api.Get("/files/:id", r.Files.Get)
	api.Get("/files/:id/picture", r.Files.Picture)
	api.Delete("/files/:id", r.Files.Delete)

	api.Get("/documents", r.Documents.List)
	api.Post("/documents", r.Documents.Post)
	api.Get("/documents/search", r.Documents.Search)
	api.Get("/documents/:id", r.Documents.Get)
	api.Delete("/documents/:id", r.Documents.Delete)

	operator := api.Group("", operatorOnly)
	operator.Post("/models", r.Models.Post)
	operator.Post("/models/test", r.Models.Test)
	operator.Post("/models/refresh", r.Models.Refresh)
	operator.Post("/models/offers", r.Models.Offers)
	operator.Put("/models/default", r.Models.PutDefault)
	operator.Delete("/models/:name", r.Models.Delete)
	operator.Post("/agents", r.Agents.Post)
	operator.Patch("/agents/:id", r.Agents.Patch)
	operator.Delete("/agents/:id", r.Agents.Delete)
	operator.Get("/plugins", r.Plugins.List)
	operator.Patch("/plugins/:name/config", r.Plugins.PatchConfig)
	operator.Post("/plugins/:name/accept", r.Plugins.Accept)
	operator.Get("/users", r.Users.List)
	operator.Post("/users", r.Users.Post)
	operator.Delete("/users/:name", r.Users.Delete)
	operator.Post("/users/:name/link", r.Users.PostLink)

	api.Use(func(*fiber.Ctx) error { return fault.Of(fault.NotFound) })
	s.app.Use("/api", func(*fiber.Ctx) error { return fault.Of(fault.NotFound) })
	s.app.Use(s.page)
}

// readyz tells whether questions can be served. Probes look at its status alone.
func (s *Server) readyz(c *fiber.Ctx) error {
	s.mu.Lock()
	stopped := s.stopped
	s.mu.Unlock()
	if stopped {
		return c.Status(fault.Closing.Status()).SendString("shutting down\n")
	}
	if s.cfg.Ready != nil {
		if err := s.cfg.Ready(); err != nil {
			return c.Status(fault.Closing.Status()).SendString(err.Error() + "\n")
		}
	}
	return c.SendString("ready\n")
}
