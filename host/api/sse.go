package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

// stream answers with server-sent events that write makes. ctx ends with the
// server; write also ends when the client is gone, which it learns by writing.
func (s *Server) stream(c *fiber.Ctx, write func(ctx context.Context, w *bufio.Writer) error) error {
	if !s.admit() {
		return fault.New(fault.Closing, "The host is shutting down.")
	}
	c.Set(fiber.HeaderContentType, "text/event-stream; charset=utf-8")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("X-Accel-Buffering", "no")
	path := c.Path()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer s.wg.Done()
		ctx, cancel := context.WithCancel(s.streams)
		defer cancel()
		// A first comment carries the header to the client before anything happens.
		// Where the client is gone already, write finds its context ended.
		if _, err := w.WriteString(": bulkhead\n\n"); err != nil || w.Flush() != nil {
			cancel()
		}
		if err := write(ctx, w); err != nil && ctx.Err() == nil {
			s.cfg.Logger.Debug("event stream ended", "path", path, "error", err)
		}
	})
	return nil
}

// streamRun answers with the packets of a run.
func (s *Server) streamRun(c *fiber.Ctx, cursor *turn.Cursor) error {
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
func (s *Server) writeRun(ctx context.Context, w *bufio.Writer, cursor *turn.Cursor) error {
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
		quiet, stop := s.cfg.After(silence)
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

// userEvents answers with what happens outside of runs.
func (s *Server) userEvents(c *fiber.Ctx) error {
	if err := mayWatch(whoOf(c)); err != nil {
		return err
	}
	events := s.hub.Subscribe(whoOf(c).UserID())
	err := s.stream(c, func(ctx context.Context, w *bufio.Writer) error {
		defer events.Close()
		for {
			quiet, stop := s.cfg.After(silence)
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

func writeEvents(w *bufio.Writer, events []Event) error {
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

// cursorOf reads where a client of a run's event stream is: the header
// Last-Event-ID, else the query. known is false where neither names an epoch.
func cursorOf(c *fiber.Ctx) (epoch, after int64, known bool, err error) {
	if last := c.Get("Last-Event-ID"); last != "" {
		e, n, ok := strings.Cut(last, ".")
		epoch, err1 := strconv.ParseInt(e, 10, 64)
		after, err2 := strconv.ParseInt(n, 10, 64)
		if !ok || err1 != nil || err2 != nil || after < 0 {
			return 0, 0, false, invalid("Last-Event-ID must be epoch.seq, such as 1.17.")
		}
		return epoch, after, true, nil
	}
	if epoch, err = queryInt(c, "epoch", 0); err != nil {
		return 0, 0, false, err
	}
	after, err = queryInt(c, "after", 0)
	return epoch, after, c.Query("epoch") != "", err
}

// queryInt reads a number that is not negative from the query.
func queryInt(c *fiber.Ctx, name string, otherwise int64) (int64, error) {
	text := c.Query(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, invalid("The query's " + name + " must be a number that is not negative.")
	}
	return n, nil
}

// stamp is a time as JSON has it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
