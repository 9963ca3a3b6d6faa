package rest

import (
	"errors"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

type MemoryView struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Plugin wrote it last; "" for the person.
	Plugin    string `json:"plugin,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

type memoryBody struct {
	Text string `json:"text"`
	// Plugin wrote the text, as in a plugin that an operator tries; "" for the person.
	Plugin string `json:"plugin,omitempty"`
	// Untrusted says that the text may hold what strangers wrote.
	Untrusted bool `json:"untrusted,omitempty"`
}

func (b memoryBody) labels() []string {
	if b.Untrusted {
		return []string{capability.LabelUntrustedContent}
	}
	return nil
}

func viewMemory(m store.Memory) MemoryView {
	return MemoryView{m.ID, m.Text, m.Plugin, m.Session, stamp(m.CreatedAt), stamp(m.UpdatedAt)}
}

// memoryFault names the memory where the store has no record.
func memoryFault(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fault.Of(fault.UnknownMemory)
	case errors.Is(err, store.ErrInvalid):
		return fault.New(fault.Invalid, fmt.Sprintf("A memory has 1 to %d characters.", store.MaxMemoryRunes))
	case errors.Is(err, store.ErrFull):
		return fault.New(fault.Full,
			fmt.Sprintf("There are %d memories, which is all that are kept. Delete some first.", store.MaxMemories))
	}
	return err
}

// List lists what is remembered about the person, the newest first.
func (s memories) List(c *fiber.Ctx) error {
	list, err := s.cfg.Records.Memories.List(s.cfg.Context, caller.Of(c).Principal)
	if err = s.readable(err); err != nil {
		return err
	}
	views := make([]MemoryView, 0, len(list))
	for _, m := range list {
		views = append(views, viewMemory(m))
	}
	return c.JSON(fiber.Map{"memories": views})
}

// Post remembers a text; one that is remembered already is returned.
func (s memories) Post(c *fiber.Ctx) error {
	var b memoryBody
	if err := readJSON(c, &b); err != nil {
		return err
	}
	who := caller.Of(c)
	written := store.Memory{Text: b.Text, Plugin: b.Plugin, Labels: b.labels()}
	m, added, err := s.cfg.Records.Memories.Add(s.cfg.Context, who.Principal, written)
	if err != nil {
		return memoryFault(err)
	}
	if added {
		s.ask.Publish(who, event.TopicMemory, m.ID, "created")
		c.Status(fiber.StatusCreated)
	}
	return c.JSON(fiber.Map{"memory": viewMemory(m)})
}

// Patch gives a memory another text.
func (s memories) Patch(c *fiber.Ctx) error {
	var b memoryBody
	if err := readJSON(c, &b); err != nil {
		return err
	}
	who := caller.Of(c)
	m, err := s.cfg.Records.Memories.Update(s.cfg.Context, who.Principal, c.Params("id"), b.Text, b.Plugin, b.labels())
	if err != nil {
		return memoryFault(err)
	}
	s.ask.Publish(who, event.TopicMemory, m.ID, "updated")
	return c.JSON(fiber.Map{"memory": viewMemory(m)})
}

// Delete forgets a memory for good.
func (s memories) Delete(c *fiber.Ctx) error {
	who := caller.Of(c)
	m, err := s.cfg.Records.Memories.Delete(s.cfg.Context, who.Principal, c.Params("id"))
	if err != nil {
		return memoryFault(err)
	}
	s.ask.Publish(who, event.TopicMemory, m.ID, "removed")
	return c.SendStatus(fiber.StatusNoContent)
}
