package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/api/sse"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

const (
	// subprotocol is what the client must ask for.
	subprotocol = "bulkhead.v1"
	// writeLimit is how long a client may take for one frame before it is gone.
	writeLimit = time.Minute
	// maxBadFrames is how many bad frames in a row end the connection.
	maxBadFrames = 5
	// maxDiscard is how much of an oversize frame is read and dropped to be able to
	// answer it, in bytes. A larger one ends the connection.
	maxDiscard = 16 << 20
	// maxFollowed is how many runs one connection may follow at once.
	maxFollowed = 64
)

// socket is one WebSocket connection. The goroutine that calls serve reads; one
// goroutine writes; one per followed run reads that run's cursor, only as fast
// as the writer takes what it has. serve returns after all of them.
type socket struct {
	srv  *Server
	conn *websocket.Conn
	who  caller.Caller
	// events are those of the person; the writer hands them on.
	events *event.Subscription
	out    chan outgoing

	wg sync.WaitGroup
	// followed is used by the reading goroutine alone.
	followed map[string]*follower
}

// outgoing is a frame, or a close when code is not 0.
type outgoing struct {
	frame  []byte
	code   websocket.StatusCode
	reason string
}

// follower reads one run for a connection.
type follower struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// newSocket returns a socket that hands on events, which the caller closes.
func newSocket(srv *Server, conn *websocket.Conn, who caller.Caller, events *event.Subscription) *socket {
	return &socket{srv: srv, conn: conn, who: who, events: events, out: make(chan outgoing),
		followed: make(map[string]*follower)}
}

// serve runs the connection until it ends. ctx being done ends it at once.
func (s *socket) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer s.wg.Wait()
	defer cancel()
	defer s.conn.CloseNow()
	s.conn.SetReadLimit(-1) // readFrame has limits of its own
	written := make(chan struct{})
	s.wg.Go(func() {
		defer close(written)
		defer cancel()
		s.write(ctx)
	})
	if s.read(ctx) {
		<-written
	}
}

// read takes client frames until the connection ends. It returns true where it
// has asked the writer to close the connection.
func (s *socket) read(ctx context.Context) bool {
	bad := 0
	for {
		data, err := s.readFrame(ctx)
		if err != nil && !errors.Is(err, errFrameTooLarge) && !errors.Is(err, errBinaryFrame) {
			return false
		}
		got, id, f := any(nil), json.RawMessage(nil), (*fault.Error)(nil)
		switch {
		case errors.Is(err, errFrameTooLarge):
			f = fault.New(fault.TooLarge, "The frame is larger than 1 MiB.")
		case err != nil:
			f = fault.New(fault.Invalid, "The frame is binary; this protocol has text frames.")
		default:
			got, id, f = frame.Decode(data)
		}
		if f == nil {
			bad = 0
			s.handle(ctx, id, got)
			continue
		}
		bad++
		s.nack(ctx, id, f)
		if bad >= maxBadFrames {
			return s.send(ctx, outgoing{code: closeCode(f.Code), reason: "too many bad frames in a row"})
		}
	}
}

var (
	// errFrameTooLarge is returned for a frame over MaxFrameBytes that was dropped.
	errFrameTooLarge = errors.New("api: frame is too large")
	// errBinaryFrame is returned for a binary frame that was dropped.
	errBinaryFrame = errors.New("api: frame is binary")
)

// readFrame returns the next text frame. After errFrameTooLarge and
// errBinaryFrame the connection can go on.
func (s *socket) readFrame(ctx context.Context) ([]byte, error) {
	kind, r, err := s.conn.Reader(ctx)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, frame.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > frame.MaxBytes {
		n, err := io.Copy(io.Discard, io.LimitReader(r, maxDiscard))
		if err != nil {
			return nil, err
		}
		if n == maxDiscard {
			s.conn.Close(closeCode(fault.TooLarge), "a frame may have 1 MiB")
			return nil, io.ErrUnexpectedEOF
		}
		return nil, errFrameTooLarge
	}
	if kind != websocket.MessageText {
		return nil, errBinaryFrame
	}
	return data, nil
}

// write sends what the other goroutines hand over, the person's events, and a
// heartbeat after silence.
func (s *socket) write(ctx context.Context) {
	for {
		quiet, stop := s.srv.cfg.After(sse.Silence)
		var err error
		select {
		case o := <-s.out:
			if o.code != 0 {
				stop()
				s.conn.Close(o.code, o.reason)
				return
			}
			err = s.writeFrame(ctx, o.frame)
		case <-s.events.Ready():
			for _, e := range s.events.Take() {
				if err == nil {
					err = s.writeJSON(ctx, eventFrame{"event", e})
				}
			}
		case <-quiet:
			err = s.writeFrame(ctx, []byte(`{"type":"heartbeat"}`))
		case <-ctx.Done():
			stop()
			return
		}
		stop()
		if err != nil {
			return
		}
	}
}

type eventFrame struct {
	Type string `json:"type"`
	event.Event
}

func (s *socket) writeFrame(ctx context.Context, frame []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, frame)
}

func (s *socket) writeJSON(ctx context.Context, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.writeFrame(ctx, data)
}

// send hands o to the writer and waits until it is taken. It returns false when
// the connection is over.
func (s *socket) send(ctx context.Context, o outgoing) bool {
	select {
	case s.out <- o:
		return true
	case <-ctx.Done():
		return false
	}
}

// sendJSON hands v to the writer as a frame.
func (s *socket) sendJSON(ctx context.Context, v any) bool {
	data, err := json.Marshal(v)
	if err != nil {
		s.srv.cfg.Logger.Error("encode a frame", "error", err)
		data, _ = json.Marshal(nackFrame{Type: "nack", Error: fault.Of(fault.Internal)}) // strings always encode
	}
	return s.send(ctx, outgoing{frame: data})
}

// closeCode is the code by which a connection is closed over a fault.
func closeCode(code fault.Code) websocket.StatusCode { return websocket.StatusCode(code.Info().Close) }

// nackFrame refuses a client frame.
type nackFrame struct {
	Type  string          `json:"type"`
	ID    json.RawMessage `json:"id,omitempty"`
	Error *fault.Error    `json:"error"`
	// Run is the run that is in the way, with code busy.
	Run string `json:"run,omitempty"`
}

func (s *socket) nack(ctx context.Context, id json.RawMessage, f *fault.Error) {
	s.sendJSON(ctx, nackFrame{"nack", id, f, f.Run})
}

// follow sends the packets of a cursor from now on. A follower of the same run
// ends first. It must be called after the ack went to the writer.
func (s *socket) follow(ctx context.Context, run string, cursor *turn.Cursor) {
	s.unfollow(run)
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{cancel: cancel, done: make(chan struct{})}
	s.followed[run] = f
	s.wg.Go(func() {
		defer close(f.done)
		defer cancel()
		s.pump(ctx, run, cursor)
	})
}

// pump moves packets from the cursor to the writer until the run ends.
func (s *socket) pump(ctx context.Context, run string, cursor *turn.Cursor) {
	for {
		entries, err := cursor.Next(ctx)
		switch {
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return
		case err != nil:
			// The client comes back and resumes where it was.
			s.srv.cfg.Logger.Error("read a run", "run", run, "error", err)
			s.send(ctx, outgoing{code: closeCode(fault.Internal), reason: "the run cannot be read"})
			return
		}
		for len(entries) > 0 {
			var batch = entries
			batch, entries = frame.NextBatch(entries)
			if !s.send(ctx, outgoing{frame: frame.Packets(batch)}) {
				return
			}
		}
	}
}

// unfollow ends the follower of a run and waits for it.
func (s *socket) unfollow(run string) {
	if f, ok := s.followed[run]; ok {
		f.cancel()
		<-f.done
		delete(s.followed, run)
	}
}

// sweep forgets followers whose run is over.
func (s *socket) sweep() {
	for run, f := range s.followed {
		select {
		case <-f.done:
			delete(s.followed, run)
		default:
		}
	}
}
