// Package rest serves the resources of the REST API: each has a type of its own with a
// handler for each of its routes.
//
// A request comes in through Fiber with its caller, who has been let in; what goes out is
// JSON, or a stream that package sse writes. It must not know how connections are made, nor
// who may reach a route.
package rest

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bulkhead-host/bulkhead/host/api/ask"
	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/api/refuse"
	"github.com/bulkhead-host/bulkhead/host/api/sse"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/gofiber/fiber/v2"
)

// Config is what the resources are served from.
type Config struct {
	Records   Records
	Turns     Turns
	Knowledge Knowledge
	Models    Models
	Plugins   Plugins
	Hub       *event.Hub
	// Context is that of what requests do. It outlives them, and ends with the server.
	Context context.Context
	Streams sse.Streams
	// CloseSockets closes the sockets of the callers that which picks.
	CloseSockets func(which func(caller.Caller) bool)
	Version      string
	BaseURL      string
	Logger       *slog.Logger
	Now          func() time.Time
	NewRequestID func() string
}

// Resources has the handlers of each resource.
type Resources struct {
	Agents    agents
	Documents documents
	Files     files
	Memories  memories
	Models    models
	Plugins   plugins
	Sessions  sessions
	Runs      runs
	Users     users
	Messages  messages
	Tools     tools
}

// resource is what the handlers share.
type resource struct {
	cfg     *Config
	ask     ask.Asker
	tell    refuse.Teller
	streams sse.Streams
}

// The resources.
type (
	agents    struct{ resource }
	documents struct{ resource }
	files     struct{ resource }
	memories  struct{ resource }
	models    struct{ resource }
	plugins   struct{ resource }
	sessions  struct{ resource }
	runs      struct{ resource }
	users     struct{ resource }
	messages  struct{ resource }
	tools     struct{ resource }
)

// New returns the handlers.
func New(cfg Config) *Resources {
	r := resource{cfg: &cfg, ask: ask.New(cfg.Turns, cfg.Records.Messages, cfg.Hub, cfg.Logger),
		tell: refuse.Teller{Log: cfg.Logger}, streams: cfg.Streams}
	return &Resources{agents{r}, documents{r}, files{r}, memories{r}, models{r}, plugins{r}, sessions{r}, runs{r},
		users{r}, messages{r}, tools{r}}
}

// Changes answers with what happens outside of runs.
func (r *Resources) Changes(c *fiber.Ctx) error { return r.Runs.streams.Events(c, r.Runs.cfg.Hub) }

// readable passes an error on unless it only names single records that cannot
// be read: the rest of a list is worth more than nothing. Those are logged.
func (s resource) readable(err error) error {
	var bad *store.RecordError
	if errors.As(err, &bad) && !errors.Is(err, store.ErrNotFound) {
		s.cfg.Logger.Error("a record cannot be read", "error", err)
		return nil
	}
	return err
}
