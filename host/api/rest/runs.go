package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// runOf returns the run of the address.
func (s runs) runOf(c *fiber.Ctx) (store.Run, error) {
	run, err := s.cfg.Records.Runs.Get(s.cfg.Context, caller.Of(c).Principal, c.Params("run"))
	if errors.Is(err, store.ErrNotFound) {
		return run, fault.Of(fault.UnknownRun)
	}
	return run, err
}

// Get says where a run stands.
func (s runs) Get(c *fiber.Ctx) error {
	run, err := s.runOf(c)
	if err != nil {
		return err
	}
	return c.JSON(struct {
		Run        string `json:"run"`
		Epoch      int64  `json:"epoch"`
		SessionID  string `json:"session_id"`
		Live       bool   `json:"live"`
		StopReason string `json:"stop_reason,omitempty"`
	}{run.ID, run.Epoch, run.Session, run.Live(), run.StopReason})
}

// Stop stops a run, or one model of it.
func (s runs) Stop(c *fiber.Ctx) error {
	var b struct {
		ModelIndex *int `json:"model_index"`
	}
	if len(c.Body()) > 0 {
		if err := readJSON(c, &b); err != nil {
			return err
		}
	}
	run := c.Params("run")
	if err := s.cfg.Turns.Stop(s.cfg.Context, caller.Of(c).Principal, run, b.ModelIndex); err != nil {
		return err
	}
	return c.JSON(fiber.Map{"run": run})
}

// Packets returns what there is of a run by now, without waiting for more.
func (s runs) Packets(c *fiber.Ctx) error {
	after, err := queryInt(c, "after", 0)
	if err != nil {
		return err
	}
	run, err := s.runOf(c)
	if err != nil {
		return err
	}
	cursor, err := s.cfg.Turns.Open(s.cfg.Context, caller.Of(c).Principal, run.ID, 0, after)
	if err != nil {
		return err
	}
	now, cancel := context.WithCancel(s.cfg.Context)
	cancel() // a cursor hands out what is there before it looks at the context
	entries, err := cursor.Next(now)
	ended := errors.Is(err, io.EOF)
	if err != nil && !ended && !errors.Is(err, context.Canceled) {
		return err
	}
	packets := make([]json.RawMessage, 0, len(entries))
	for _, e := range entries {
		packets = append(packets, e.JSON)
		ended = EndsRun(e.Packet)
	}
	return c.JSON(struct {
		Run     string            `json:"run"`
		Epoch   int64             `json:"epoch"`
		Packets []json.RawMessage `json:"packets"`
		Done    bool              `json:"done"`
	}{run.ID, cursor.Epoch, packets, ended})
}

// EndsRun tells whether p is the last packet of its run.
func EndsRun(p packet.Packet) bool {
	_, stop := p.Obj.(packet.Stop)
	return stop && p.Placement.ModelIndex == nil
}

// Events streams a run from where the client is.
func (s runs) Events(c *fiber.Ctx) error {
	epoch, after, known, err := cursorOf(c)
	if err != nil {
		return err
	}
	run, err := s.runOf(c)
	if err != nil {
		return err
	}
	if !known {
		epoch = run.Epoch
	}
	if run.Told(epoch, after) {
		return c.SendStatus(fiber.StatusNoContent)
	}
	cursor, err := s.cfg.Turns.Open(s.cfg.Context, caller.Of(c).Principal, run.ID, epoch, after)
	if err != nil {
		return err
	}
	return s.streams.Run(c, cursor)
}
