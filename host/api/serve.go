package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/bulkhead-host/bulkhead/host/fault"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// Serve serves browsers and other clients that sign in. It returns when the
// listener fails, or nil after Shutdown; ErrStopped where that came before.
func (s *Server) Serve(ln net.Listener) error { return s.serve(0, ln) }

// ServeLocal serves the command line: whoever can reach the listener may act as
// any user, and is the operator "owner" where the header X-Bulkhead-User names
// nobody. The listener must be closed to others.
func (s *Server) ServeLocal(ln net.Listener) error { return s.serve(1, ln) }

// acceptPause is how long Serve waits when the system can open no more
// connections.
const acceptPause = 50 * time.Millisecond

func (s *Server) serve(kind int, ln net.Listener) error {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		ln.Close() // nobody uses it
		return ErrStopped
	}
	s.listeners[ln] = struct{}{}
	s.mu.Unlock()
	for {
		conn, err := ln.Accept()
		var short net.Error
		switch {
		case err == nil:
			s.take(kind, conn)
		case s.isStopped():
			return nil
		case errors.As(err, &short) && short.Timeout(), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE),
			errors.Is(err, syscall.ECONNABORTED):
			s.cfg.Logger.Warn("accept a connection", "error", err)
			again, stop := s.cfg.After(acceptPause)
			select {
			case <-again:
			case <-s.streams.Done():
			}
			stop()
		default:
			return fmt.Errorf("accept a connection: %w", err)
		}
	}
}

func (s *Server) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// take serves a connection on a goroutine of its own. fasthttp's pool of workers
// is not used: nobody could wait for its end.
func (s *Server) take(kind int, raw net.Conn) {
	conn := &trackedConn{Conn: raw, of: s, idle: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		raw.Close() // it came too late
		return
	}
	s.conns[conn] = struct{}{}
	s.wg.Go(func() {
		if err := s.servers[kind].ServeConn(conn); err != nil {
			s.cfg.Logger.Debug("connection ended", "error", err)
		}
	})
}

// Shutdown closes the listeners, ends every stream, closes WebSockets with
// status 1001 and waits for all requests. When ctx is done first it breaks the
// connections that are left and returns ctx.Err(). Runs go on; they are not
// this package's.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	for ln := range s.listeners {
		ln.Close() // what can fail is what a second close would say
	}
	for k := range s.sockets {
		s.wg.Go(func() { k.goAway(closeCode(fault.Closing), "the host is shutting down") })
	}
	for c := range s.conns {
		if c.idle {
			c.Conn.Close() // nothing is being sent on it
		}
	}
	s.mu.Unlock()
	s.stopStreams()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.wg.Wait()
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
		s.breakConns()
		<-done
	}
	s.cancel()
	return err
}

// breakConns ends whatever waits for a client.
func (s *Server) breakConns() {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Conn.Close() // it is being thrown away
	}
}

// onConnState follows fasthttp's word on a connection: one that falls idle while
// the server stops gets no further request.
func (s *Server) onConnState(conn net.Conn, state fasthttp.ConnState) {
	c, ok := conn.(*trackedConn)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.idle = state == fasthttp.StateIdle
	if c.idle && s.stopped {
		c.Conn.Close() // its reply has been sent
	}
}

// admit counts a stream or a WebSocket, unless the server is stopping. Each is
// followed by s.wg.Done.
func (s *Server) admit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.wg.Add(1)
	return true
}

// trackedConn is a connection that the server knows of until it is closed.
type trackedConn struct {
	net.Conn
	of *Server
	// idle tells that no request is being served; of.mu guards it.
	idle bool
}

// Close implements net.Conn.
func (c *trackedConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// Read implements net.Conn.
func (c *trackedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if m := c.of.cfg.Metrics; m != nil {
		m.Received(n)
	}
	return n, err
}

// Write implements net.Conn.
func (c *trackedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if m := c.of.cfg.Metrics; m != nil {
		m.Sent(n)
	}
	return n, err
}
