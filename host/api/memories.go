package api

import (
	"errors"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

type memoryView struct {
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

func viewMemory(m store.Memory) memoryView {
	return memoryView{m.ID, m.Text, m.Plugin, m.Session, stamp(m.CreatedAt), stamp(m.UpdatedAt)}
}

// memoryFault names the memory where the store has no record.
func memoryFault(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fault.Of(fault.UnknownMemory)
	case errors.Is(err, store.ErrInvalid):
		return invalid(sprintf("A memory has 1 to %d characters.", store.MaxMemoryRunes))
	case errors.Is(err, store.ErrFull):
		return fault.New(fault.Full,
			sprintf("There are %d memories, which is all that are kept. Delete some first.", store.MaxMemories))
	}
	return err
}

// listMemories lists what is remembered about the person, the newest first.
func (s *Server) listMemories(c *fiber.Ctx) error {
	list, err := s.cfg.Store.Memories().List(s.ctx, whoOf(c).Principal)
	if err = s.readable(err); err != nil {
		return err
	}
	views := make([]memoryView, 0, len(list))
	for _, m := range list {
		views = append(views, viewMemory(m))
	}
	return c.JSON(fiber.Map{"memories": views})
}

// postMemory remembers a text; one that is remembered already is returned.
func (s *Server) postMemory(c *fiber.Ctx) error {
	var b memoryBody
	if err := readJSON(c, &b); err != nil {
		return err
	}
	who := whoOf(c)
	written := store.Memory{Text: b.Text, Plugin: b.Plugin, Labels: b.labels()}
	m, added, err := s.cfg.Store.Memories().Add(s.ctx, who.Principal, written)
	if err != nil {
		return memoryFault(err)
	}
	if added {
		s.publish(who, TopicMemory, m.ID, "created")
		c.Status(fiber.StatusCreated)
	}
	return c.JSON(fiber.Map{"memory": viewMemory(m)})
}

// patchMemory gives a memory another text.
func (s *Server) patchMemory(c *fiber.Ctx) error {
	var b memoryBody
	if err := readJSON(c, &b); err != nil {
		return err
	}
	who := whoOf(c)
	m, err := s.cfg.Store.Memories().Update(s.ctx, who.Principal, c.Params("id"), b.Text, b.Plugin, b.labels())
	if err != nil {
		return memoryFault(err)
	}
	s.publish(who, TopicMemory, m.ID, "updated")
	return c.JSON(fiber.Map{"memory": viewMemory(m)})
}

// deleteMemory forgets a memory for good.
func (s *Server) deleteMemory(c *fiber.Ctx) error {
	who := whoOf(c)
	m, err := s.cfg.Store.Memories().Delete(s.ctx, who.Principal, c.Params("id"))
	if err != nil {
		return memoryFault(err)
	}
	s.publish(who, TopicMemory, m.ID, "removed")
	return c.SendStatus(fiber.StatusNoContent)
}
