package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/event"
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

// ModelBody describes a model in a request.
type ModelBody struct {
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

func (b ModelBody) Config() config.Model {
	return config.Model{Name: b.Name, Provider: provider.Name(b.Provider), BaseURL: b.BaseURL, Model: b.Model,
		APIKey: llm.NewKey(b.APIKey), ContextTokens: b.ContextTokens, NativeTools: config.NativeTools(b.NativeTools),
		Tuning: b.Tuning}
}

// ModelView is a model as an operator sees it.
type ModelView struct {
	llm.Info
	Origin  catalog.Origin `json:"origin,omitempty"`
	BaseURL string         `json:"base_url,omitempty"`
	HasKey  bool           `json:"has_key,omitempty"`
}

// List lists what a person can pick; an operator also sees where each is.
func (s models) List(c *fiber.Ctx) error {
	views := []ModelView{}
	models, managed := s.cfg.Models.(ModelCatalog)
	if err := identity.Authorize(caller.Of(c).Principal, identity.ListModels, identity.ModelKind.All()); err != nil {
		return err
	}
	if managed && caller.Of(c).Operator() {
		entries, err := models.Entries(caller.Of(c).Principal)
		if err != nil {
			return err
		}
		for _, e := range entries {
			views = append(views, ModelView{e.Info, e.Origin, e.BaseURL, e.HasKey})
		}
	} else {
		for _, m := range s.cfg.Models.List() {
			views = append(views, ModelView{Info: m})
		}
	}
	return c.JSON(fiber.Map{"models": views, "default": s.cfg.Models.Default(), "looks": managed && models.Looks()})
}

// catalog returns what can be changed.
func (s models) catalog() (ModelCatalog, error) {
	models, ok := s.cfg.Models.(ModelCatalog)
	if !ok {
		return nil, fault.New(fault.Unsupported, "This host takes no models while it runs.")
	}
	return models, nil
}

// readModel is what the handlers that get a model begin with.
func (s models) readModel(c *fiber.Ctx) (ModelCatalog, ModelBody, error) {
	var b ModelBody
	models, err := s.catalog()
	if err == nil {
		err = readJSON(c, &b)
	}
	return models, b, err
}

// Post adds a model.
func (s models) Post(c *fiber.Ctx) error {
	models, b, err := s.readModel(c)
	if err != nil {
		return err
	}
	if err := models.Add(caller.Of(c).Principal, b.Config()); err != nil {
		return modelFault(err)
	}
	if b.Default {
		if err := models.Choose(caller.Of(c).Principal, b.Name); err != nil {
			return modelFault(err)
		}
	}
	s.publishModels()
	c.Status(fiber.StatusCreated)
	return s.List(c)
}

// Delete removes a model that was added.
func (s models) Delete(c *fiber.Ctx) error {
	models, err := s.catalog()
	if err != nil {
		return err
	}
	name, err := url.PathUnescape(c.Params("name"))
	if err != nil {
		return fault.New(fault.Invalid, "The name in the address is not encoded rightly.")
	}
	if err := models.Remove(caller.Of(c).Principal, name); err != nil {
		return modelFault(err)
	}
	s.publishModels()
	return c.SendStatus(fiber.StatusNoContent)
}

// PutDefault chooses the model of those who pick none.
func (s models) PutDefault(c *fiber.Ctx) error {
	models, b, err := s.readModel(c)
	if err != nil {
		return err
	}
	if err := models.Choose(caller.Of(c).Principal, b.Name); err != nil {
		return modelFault(err)
	}
	s.publishModels()
	return s.List(c)
}

// Refresh looks for model servers on this machine.
func (s models) Refresh(c *fiber.Ctx) error {
	models, err := s.catalog()
	if err != nil {
		return err
	}
	if !models.Looks() {
		return fault.New(fault.Unsupported,
			"Looking for model servers is turned off in the configuration (probe: false). Add the model by its address.")
	}
	if err := models.Refresh(s.cfg.Context, caller.Of(c).Principal); err != nil {
		return err
	}
	s.publishModels()
	return s.List(c)
}

// Offers lists what a server says it has.
func (s models) Offers(c *fiber.Ctx) error {
	models, b, err := s.readModel(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.streams.Ctx, offersLimit) // nobody waits for a model when the host ends
	defer cancel()
	names, err := models.Offers(ctx, caller.Of(c).Principal, b.Config())
	if err != nil {
		return offersFault(err)
	}
	return c.JSON(fiber.Map{"models": append([]string{}, names...)})
}

// Test asks a model two questions: one that is there, by its name alone, or
// one that is described and not added.
func (s models) Test(c *fiber.Ctx) error {
	models, b, err := s.readModel(c)
	if err != nil {
		return err
	}
	if err := identity.Authorize(caller.Of(c).Principal, identity.TestModel, identity.ModelKind.All()); err != nil {
		return err
	}
	var model llm.Model
	if b.BaseURL == "" && b.Model == "" && b.Provider == "" {
		model, err = models.Get(b.Name)
	} else {
		if b.Name == "" {
			b.Name = b.Model // a name is not needed to ask
		}
		model, err = models.Draft(caller.Of(c).Principal, b.Config())
	}
	if err != nil {
		return modelFault(err)
	}
	ctx, cancel := context.WithTimeout(s.streams.Ctx, trialLimit)
	defer cancel()
	return c.JSON(trial.Run(ctx, model, s.cfg.Now))
}

// publishModels tells everybody's pages to look anew.
func (s models) publishModels() {
	s.cfg.Hub.Broadcast(event.Event{Topic: event.TopicModel, Change: "updated"})
}

// modelFault reads the errors of a catalog.
func modelFault(err error) error {
	var mistake *catalog.MistakeError
	switch {
	case errors.As(err, &mistake):
		f := fault.New(fault.Invalid, mistake.Message)
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
		return fault.New(fault.Invalid, "The server wants a key, or refuses this one.")
	case errors.As(err, &status):
		return fault.New(fault.Invalid, fmt.Sprintf("The server answered with status %d. Does its address end in /v1?",
			status.Status))
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Invalid, "The server did not answer in time.")
	}
	return fault.New(fault.Invalid, "No list of models could be had there. Is the server running, and is the address "+
		"right?")
}
