package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
	"github.com/bulkhead-host/bulkhead/host/llm/trial"
)

const (
	// trialLimit bounds the test of a model; a large one is loaded first.
	trialLimit = 2 * time.Minute
	// offersLimit bounds the question what a server has.
	offersLimit = 10 * time.Second
)

// modelBody describes a model in a request.
type modelBody struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	BaseURL  string `json:"base_url"`
	Model    string `json:"model"`
	// APIKey is taken and never given back.
	APIKey        string `json:"api_key"`
	ContextTokens int    `json:"context_tokens"`
	// NativeTools is auto, yes or no.
	NativeTools string `json:"native_tools"`
	// Tuning are the settings that are seldom needed, under the names that they have
	// in the file.
	config.Tuning
	// Default makes it the default model.
	Default bool `json:"default"`
}

func (b modelBody) config() config.Model {
	return config.Model{Name: b.Name, Provider: provider.Name(b.Provider), BaseURL: b.BaseURL, Model: b.Model,
		APIKey: llm.NewKey(b.APIKey), ContextTokens: b.ContextTokens, NativeTools: config.NativeTools(b.NativeTools), Tuning: b.Tuning}
}

// modelView is a model as an operator sees it.
type modelView struct {
	llm.Info
	Origin  catalog.Origin `json:"origin,omitempty"`
	BaseURL string         `json:"base_url,omitempty"`
	HasKey  bool           `json:"has_key,omitempty"`
}

// listModels lists what a person can pick; an operator also sees where each is.
func (s *Server) listModels(c *fiber.Ctx) error {
	views := []modelView{}
	models, managed := s.cfg.Models.(ModelCatalog)
	if err := identity.Authorize(whoOf(c).Principal, identity.ListModels, identity.ModelKind.All()); err != nil {
		return err
	}
	if managed && whoOf(c).Operator() {
		entries, err := models.Entries(whoOf(c).Principal)
		if err != nil {
			return err
		}
		for _, e := range entries {
			views = append(views, modelView{e.Info, e.Origin, e.BaseURL, e.HasKey})
		}
	} else {
		for _, m := range s.cfg.Models.List() {
			views = append(views, modelView{Info: m})
		}
	}
	return c.JSON(fiber.Map{"models": views, "default": s.cfg.Models.Default(), "looks": managed && models.Looks()})
}

// catalog returns what can be changed.
func (s *Server) catalog() (ModelCatalog, error) {
	models, ok := s.cfg.Models.(ModelCatalog)
	if !ok {
		return nil, fault.New(fault.Unsupported, "This host takes no models while it runs.")
	}
	return models, nil
}

// readModel is what the handlers that get a model begin with.
func (s *Server) readModel(c *fiber.Ctx) (ModelCatalog, modelBody, error) {
	var b modelBody
	models, err := s.catalog()
	if err == nil {
		err = readJSON(c, &b)
	}
	return models, b, err
}

// postModel adds a model.
func (s *Server) postModel(c *fiber.Ctx) error {
	models, b, err := s.readModel(c)
	if err != nil {
		return err
	}
	if err := models.Add(whoOf(c).Principal, b.config()); err != nil {
		return modelFault(err)
	}
	if b.Default {
		if err := models.Choose(whoOf(c).Principal, b.Name); err != nil {
			return modelFault(err)
		}
	}
	s.publishModels()
	c.Status(fiber.StatusCreated)
	return s.listModels(c)
}

// deleteModel removes a model that was added.
func (s *Server) deleteModel(c *fiber.Ctx) error {
	models, err := s.catalog()
	if err != nil {
		return err
	}
	name, err := url.PathUnescape(c.Params("name"))
	if err != nil {
		return invalid("The name in the address is not encoded rightly.")
	}
	if err := models.Remove(whoOf(c).Principal, name); err != nil {
		return modelFault(err)
	}
	s.publishModels()
	return c.SendStatus(fiber.StatusNoContent)
}

// putDefaultModel chooses the model of those who pick none.
func (s *Server) putDefaultModel(c *fiber.Ctx) error {
	models, b, err := s.readModel(c)
	if err != nil {
		return err
	}
	if err := models.Choose(whoOf(c).Principal, b.Name); err != nil {
		return modelFault(err)
	}
	s.publishModels()
	return s.listModels(c)
}

// refreshModels looks for model servers on this machine.
func (s *Server) refreshModels(c *fiber.Ctx) error {
	models, err := s.catalog()
	if err != nil {
		return err
	}
	if !models.Looks() {
		return fault.New(fault.Unsupported,
			"Looking for model servers is turned off in the configuration (probe: false). Add the model by its address.")
	}
	if err := models.Refresh(s.ctx, whoOf(c).Principal); err != nil {
		return err
	}
	s.publishModels()
	return s.listModels(c)
}

// modelOffers lists what a server says it has.
func (s *Server) modelOffers(c *fiber.Ctx) error {
	models, b, err := s.readModel(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.streams, offersLimit) // nobody waits for a model when the host ends
	defer cancel()
	names, err := models.Offers(ctx, whoOf(c).Principal, b.config())
	if err != nil {
		return offersFault(err)
	}
	return c.JSON(fiber.Map{"models": append([]string{}, names...)})
}

// testModel asks a model two questions: one that is there, by its name alone, or
// one that is described and not added.
func (s *Server) testModel(c *fiber.Ctx) error {
	models, b, err := s.readModel(c)
	if err != nil {
		return err
	}
	if err := identity.Authorize(whoOf(c).Principal, identity.TestModel, identity.ModelKind.All()); err != nil {
		return err
	}
	var model llm.Model
	if b.BaseURL == "" && b.Model == "" && b.Provider == "" {
		model, err = models.Get(b.Name)
	} else {
		if b.Name == "" {
			b.Name = b.Model // a name is not needed to ask
		}
		model, err = models.Draft(whoOf(c).Principal, b.config())
	}
	if err != nil {
		return modelFault(err)
	}
	ctx, cancel := context.WithTimeout(s.streams, trialLimit)
	defer cancel()
	return c.JSON(trial.Run(ctx, model, s.cfg.Now))
}

// publishModels tells everybody's pages to look anew.
func (s *Server) publishModels() {
	s.hub.Broadcast(Event{Topic: TopicModel, Change: "updated"})
}

// modelFault reads the errors of a catalog.
func modelFault(err error) error {
	var mistake *catalog.MistakeError
	switch {
	case errors.As(err, &mistake):
		f := invalid(mistake.Message)
		f.Field = mistake.Field
		return f
	case errors.Is(err, catalog.ErrTaken):
		f := fault.New(fault.Conflict, "There is a model of that name already. Choose another name.")
		f.Field = "name"
		return f
	case errors.Is(err, catalog.ErrUnknown):
		return fault.Of(fault.UnknownModel)
	case errors.Is(err, catalog.ErrNotAdded):
		return fault.New(fault.Conflict,
			"This model was not added here. One that stands in bulkhead.yaml is removed there; one that was found goes "+
				"when its server does; the built-in one stays.")
	case errors.Is(err, catalog.ErrNoStorage):
		return fault.New(fault.Unsupported, "This host takes no models while it runs.")
	}
	return err
}

// offersFault says why a server's list could not be had.
func offersFault(err error) error {
	var status *catalog.StatusError
	var mistake *catalog.MistakeError
	switch {
	case errors.Is(err, identity.ErrNobody), errors.Is(err, identity.ErrForbidden):
		return err
	case errors.As(err, &mistake):
		return modelFault(err)
	case errors.As(err, &status) && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden):
		return invalid("The server wants a key, or refuses this one.")
	case errors.As(err, &status):
		return invalid(sprintf("The server answered with status %d. Does its address end in /v1?", status.Status))
	case errors.Is(err, context.DeadlineExceeded):
		return invalid("The server did not answer in time.")
	}
	return invalid("No list of models could be had there. Is the server running, and is the address right?")
}
