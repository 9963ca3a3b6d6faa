package api

import (
	"net"
	"net/http"

	"github.com/coder/websocket"
	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/fault"
)

// webSocket takes the connection from Fiber and serves it as a WebSocket. Who
// asks and from which page has been checked.
func (s *Server) webSocket(c *fiber.Ctx) error {
	if !c.Context().IsGet() || c.Get(fiber.HeaderUpgrade) == "" {
		return fault.Of(fault.UpgradeRequired)
	}
	who := caller.Of(c)
	if err := who.MayWatch(); err != nil {
		return err
	}
	if !s.admit() {
		return fault.New(fault.Closing, "The host is shutting down.")
	}
	request := netHTTPRequest(c.Context())
	c.Context().HijackSetNoResponse(true)
	c.Context().Hijack(func(raw net.Conn) {
		defer s.wg.Done()
		s.upgrade(raw, request, who)
	})
	return nil
}

func (s *Server) upgrade(raw net.Conn, request *http.Request, who caller.Caller) {
	// Before the handshake is answered: a client fetches when it is open, and what
	// changes after that must reach it.
	events := s.hub.Subscribe(who.UserID())
	defer events.Close()
	w := newHandshake(raw)
	conn, err := websocket.Accept(w, request, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // checkOrigin has verified the origin
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		s.cfg.Logger.Debug("websocket handshake", "error", err)
		_ = w.refuse() // a client that is gone needs no reply
		return
	}
	if conn.Subprotocol() != subprotocol {
		conn.Close(closeCode(fault.Unsupported), "ask for the subprotocol "+subprotocol)
		return
	}
	k := newSocket(s, conn, who, events)
	if !s.enter(k) {
		conn.Close(closeCode(fault.Closing), "the host is shutting down")
		return
	}
	defer s.leave(k)
	// Whoever signed out before the socket was remembered has not closed it.
	if who.Cookie != "" {
		if _, err := s.cfg.Doors.UserByCookie(s.ctx, who.Cookie); err != nil {
			conn.Close(closeCode(fault.SignedOut), "signed out")
			return
		}
	}
	s.cfg.Logger.Info("a socket opened", "request", who.Request, "user", who.UserID())
	k.serve(s.ctx)
	s.cfg.Logger.Info("a socket closed", "request", who.Request, "user", who.UserID())
}

// enter remembers a socket, so that it can be closed, unless it came too late.
func (s *Server) enter(k *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.sockets[k] = struct{}{}
	return true
}

// socketCount is how many sockets are open.
func (s *Server) socketCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets)
}

func (s *Server) leave(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sockets, k)
}

// closeSockets closes the sockets of the callers that which picks. Each closes
// by itself; Shutdown waits for them.
func (s *Server) closeSockets(which func(caller.Caller) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.sockets {
		if which(k.who) {
			s.wg.Go(func() { k.goAway(closeCode(fault.SignedOut), "signed out") })
		}
	}
}

// goAway closes the connection with a code. It may be called from any goroutine.
func (s *socket) goAway(code websocket.StatusCode, reason string) {
	s.conn.Close(code, reason) // a peer that does not answer is cut off
}
