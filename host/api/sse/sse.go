// Package sse answers requests with server-sent events: the packets of a run, or what
// happens to a person outside of runs.
//
// It must not know which route a stream belongs to.
package sse

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

// Silence is after how long without a word a heartbeat goes out, here and on sockets.
const Silence = 15 * time.Second

// Streams answers requests with server-sent events.
type Streams struct {
	// Ctx ends when streams have to.
	Ctx context.Context
	// Admit counts a stream in, unless none begins any more; each is followed by done.
	Admit func() bool
	Done  func()
	// After is time.After that can be stopped.
	After func(time.Duration) (c <-chan time.Time, stop func())
	Log   *slog.Logger
}

// stream answers with server-sent events that write makes. ctx ends with the
// server; write also ends when the client is gone, which it learns by writing.
func (s Streams) stream(c *fiber.Ctx, write func(ctx context.Context, w *bufio.Writer) error) error {
	if !s.Admit() {
		return fault.New(fault.Closing, "The host is shutting down.")
	}
	c.Set(fiber.HeaderContentType, "text/event-stream; charset=utf-8")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("X-Accel-Buffering", "no")
	path := c.Path()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer s.Done()
		ctx, cancel := context.WithCancel(s.Ctx)
		defer cancel()
		// A first comment carries the header to the client before anything happens.
		// Where the client is gone already, write finds its context ended.
		if _, err := w.WriteString(": bulkhead\n\n"); err != nil || w.Flush() != nil {
			cancel()
		}
		if err := write(ctx, w); err != nil && ctx.Err() == nil {
			s.Log.Debug("event stream ended", "path", path, "error", err)
		}
	})
	return nil
}

// Run answers with the packets of a run.
func (s Streams) Run(c *fiber.Ctx, cursor *turn.Cursor) error {
	return s.stream(c, func(ctx context.Context, w *bufio.Writer) error {
		if cursor.Reset {
			if _, err := fmt.Fprintf(w, "event: reset\ndata: {\"epoch\":%d}\n\n", cursor.Epoch); err != nil {
				return err
			}
		}
		return s.writeRun(ctx, w, cursor)
	})
}

// writeRun writes packets as they come, and a comment after silence.
func (s Streams) writeRun(ctx context.Context, w *bufio.Writer, cursor *turn.Cursor) error {
	ctx, cancel := context.WithCancel(ctx)
	batches := make(chan []journal.Entry)
	failed := make(chan error, 1)
	go func() {
		defer close(batches)
		for {
			entries, err := cursor.Next(ctx)
			if err != nil {
				failed <- err
				return
			}
			select {
			case batches <- entries:
			case <-ctx.Done():
				failed <- ctx.Err()
				return
			}
		}
	}()
	// The reader ends once its context does; it is waited for.
	defer func() {
		cancel()
		for range batches {
		}
	}()
	for {
		quiet, stop := s.After(Silence)
		select {
		case entries, ok := <-batches:
			stop()
			if !ok {
				if err := <-failed; !errors.Is(err, io.EOF) {
					return err
				}
				return w.Flush()
			}
			if err := writeEntries(w, cursor.Epoch, entries); err != nil {
				return err
			}
		case <-quiet:
			if err := writeHeartbeat(w); err != nil {
				return err
			}
		}
	}
}

func writeHeartbeat(w *bufio.Writer) error {
	if _, err := w.WriteString(": heartbeat\n\n"); err != nil {
		return err
	}
	return w.Flush()
}

func writeEntries(w *bufio.Writer, epoch int64, entries []journal.Entry) error {
	for _, e := range entries {
		if _, err := fmt.Fprintf(w, "id: %d.%d\ndata: %s\n\n", epoch, e.Seq, e.JSON); err != nil {
			return err
		}
	}
	return w.Flush()
}

// Events answers with what happens outside of runs.
func (s Streams) Events(c *fiber.Ctx, hub *event.Hub) error {
	if err := caller.Of(c).MayWatch(); err != nil {
		return err
	}
	events := hub.Subscribe(caller.Of(c).UserID())
	err := s.stream(c, func(ctx context.Context, w *bufio.Writer) error {
		defer events.Close()
		for {
			quiet, stop := s.After(Silence)
			select {
			case <-events.Ready():
				stop()
				if err := writeEvents(w, events.Take()); err != nil {
					return err
				}
			case <-quiet:
				if err := writeHeartbeat(w); err != nil {
					return err
				}
			case <-ctx.Done():
				stop()
				return ctx.Err()
			}
		}
	})
	if err != nil {
		events.Close()
	}
	return err
}

func writeEvents(w *bufio.Writer, events []event.Event) error {
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Topic, data); err != nil {
			return err
		}
	}
	return w.Flush()
}
