package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/fault"
)

// apiRoot is where the programs' part of the address space begins.
const apiRoot = "/api/v1"

// route lays out every address.
func (s *Server) route() {
	s.app.Use(s.track, s.recoverPanic(), secure, s.checkHost)
	s.app.Get("/healthz", func(c *fiber.Ctx) error { return c.SendString("ok\n") })
	s.app.Get("/readyz", s.readyz)
	s.app.Get("/metrics", s.metrics)
	s.app.Get("/sign-in", s.signIn)

	api := s.app.Group(apiRoot, s.checkOrigin, s.authenticate)
	api.Get("/ws", s.webSocket)
	api.Get("/events", s.userEvents)
	api.Post("/sign-out", s.signOut)
	api.Get("/me", s.me)
	api.Get("/models", s.listModels)
	api.Get("/tools", s.listTools)

	api.Get("/sessions", s.listSessions)
	api.Get("/sessions/:id", s.getSession)
	api.Patch("/sessions/:id", s.patchSession)
	api.Delete("/sessions/:id", s.deleteSession)
	api.Post("/sessions/:id/messages", s.postMessage)

	api.Get("/runs/:run", s.getRun)
	api.Post("/runs/:run/stop", s.stopRun)
	api.Get("/runs/:run/packets", s.runPackets)
	api.Get("/runs/:run/events", s.runEvents)

	api.Get("/memories", s.listMemories)
	api.Post("/memories", s.postMemory)
	api.Patch("/memories/:id", s.patchMemory)
	api.Delete("/memories/:id", s.deleteMemory)

	api.Get("/agents", s.listAgents)

	api.Get("/files", s.listFiles)
	api.Post("/files", s.postFiles)
	api.Get("/files/:id", s.getFile)
	api.Get("/files/:id/picture", s.getPicture)
	api.Delete("/files/:id", s.deleteFile)

	api.Get("/documents", s.listDocuments)
	api.Post("/documents", s.postDocuments)
	api.Get("/documents/search", s.searchDocuments)
	api.Get("/documents/:id", s.getDocument)
	api.Delete("/documents/:id", s.deleteDocument)

	operator := api.Group("", operatorOnly)
	operator.Post("/models", s.postModel)
	operator.Post("/models/test", s.testModel)
	operator.Post("/models/refresh", s.refreshModels)
	operator.Post("/models/offers", s.modelOffers)
	operator.Put("/models/default", s.putDefaultModel)
	operator.Delete("/models/:name", s.deleteModel)
	operator.Post("/agents", s.postAgent)
	operator.Patch("/agents/:id", s.patchAgent)
	operator.Delete("/agents/:id", s.deleteAgent)
	operator.Get("/plugins", s.listPlugins)
	operator.Patch("/plugins/:name/config", s.patchPluginConfig)
	operator.Post("/plugins/:name/accept", s.acceptPluginTools)
	operator.Get("/users", s.listUsers)
	operator.Post("/users", s.postUser)
	operator.Delete("/users/:name", s.deleteUser)
	operator.Post("/users/:name/link", s.postLink)

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
