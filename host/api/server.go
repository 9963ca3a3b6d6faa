// Package api is the host's door: REST, server-sent events, the WebSocket and
// the page, on one Fiber app. Requests come in from browsers over TCP, and from
// the command line over the data folder's socket or in memory; what goes out is
// packets and JSON, as the protocol fixes them.
//
// It checks who asks, whence and in which form, and hands the rest on. It must
// not know how a run works, what a document's index looks like or what a plugin
// may do. It is the only package that knows Fiber.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"github.com/bulkhead-host/bulkhead/host/api/ask"
	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/api/refuse"
	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/api/sse"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/metrics"
	"github.com/bulkhead-host/bulkhead/host/store"
)

const (
	// maxUploadBytes is the largest request that brings documents.
	maxUploadBytes = 64 << 20
	// maxBodyBytes is the largest request of any other kind that is read, to be
	// answered properly. What is taken is at most MaxFrameBytes.
	maxBodyBytes = 8 << 20
	// readLimit is how long a client may take to send one request.
	readLimit = 2 * time.Minute
	// idleLimit is how long a connection may wait for its next request.
	idleLimit = 2 * time.Minute
)

// ErrStopped is returned by Serve after Shutdown.
var ErrStopped = errors.New("api: the server was shut down")

// Config is what a Server is made of.
type Config struct {
	Records   rest.Records
	Doors     Doors
	Turns     rest.Turns
	Knowledge rest.Knowledge
	// Models, where it is a ModelCatalog, can be changed by operators.
	Models  rest.Models
	Plugins rest.Plugins
	// Page holds the browser client with index.html at its root; nil for none.
	Page fs.FS
	// Version is the host's own, for people.
	Version string
	// BaseURL is where a browser reaches this host, such as
	// "http://127.0.0.1:8420", for sign-in links. "" where no browser does.
	BaseURL string
	// LoopbackOnly tells that the listeners are on loopback. Requests must then
	// name a loopback host, or one of Hosts.
	LoopbackOnly bool
	// Hosts are further names, with or without a port, by which this host is called.
	Hosts []string
	// Origins are pages of other sites that may call, such as
	// "https://chat.example.org".
	Origins []string
	// Hub is where changes outside of runs are published; a new one if nil.
	Hub *event.Hub
	// Ready returns why the host cannot serve questions yet; nil, or a nil error,
	// when it can.
	Ready func() error
	// SignedIn is told when somebody has signed in; nil for nobody.
	SignedIn func()
	// Metrics counts what passes and is served at /metrics; nil for neither.
	Metrics *metrics.Set
	// Logger gets what goes wrong, and at level info a line for each request;
	// slog.Default if nil.
	Logger *slog.Logger
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// After is time.After that can be stopped; the real clock if nil.
	After func(time.Duration) (c <-chan time.Time, stop func())
	// NewRequestID makes the id of a request that brought none; a random UUID if nil.
	NewRequestID func() string
}

// Doors are what people come in by; store.SignIns is the one that serves.
type Doors interface {
	RedeemLink(ctx context.Context, token string) (cookie string, user store.User, err error)
	UserByCookie(ctx context.Context, cookie string) (store.User, error)
	RevokeCookie(ctx context.Context, p identity.Principal, cookie string) error
}

// Server serves one host. It is safe for concurrent use.
type Server struct {
	cfg     Config
	app     *fiber.App
	hub     *event.Hub
	rest    *rest.Resources
	ask     ask.Asker
	tell    refuse.Teller
	servers [2]*fasthttp.Server // by origin of the connection: network, local

	// ctx ends when the server is to wait for nobody any more; streams ends before
	// it, when Shutdown begins.
	ctx         context.Context
	cancel      context.CancelFunc
	streams     context.Context
	stopStreams context.CancelFunc

	mu        sync.Mutex // guards what follows
	stopped   bool
	listeners map[net.Listener]struct{}
	conns     map[*trackedConn]struct{}
	sockets   map[*socket]struct{}
	// wg counts the goroutines of connections, WebSockets and streams.
	wg sync.WaitGroup
}

// New returns a server. Whoever calls it calls Shutdown.
func New(cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Hub == nil {
		cfg.Hub = new(event.Hub)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.After == nil {
		cfg.After = after
	}
	if cfg.NewRequestID == nil {
		cfg.NewRequestID = uuid.NewString
	}
	s := &Server{cfg: cfg, hub: cfg.Hub, listeners: make(map[net.Listener]struct{}),
		conns: make(map[*trackedConn]struct{}), sockets: make(map[*socket]struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.streams, s.stopStreams = context.WithCancel(s.ctx)
	s.app = fiber.New(fiber.Config{
		DisableStartupMessage: true,
		CaseSensitive:         true,
		Immutable:             true, // what is read of a request outlives it in runs
		BodyLimit:             maxUploadBytes,
		ErrorHandler:          s.onError,
	})
	s.rest = rest.New(rest.Config{Records: cfg.Records, Turns: cfg.Turns, Knowledge: cfg.Knowledge, Models: cfg.Models,
		Plugins: cfg.Plugins, Hub: cfg.Hub, Context: s.ctx, CloseSockets: s.closeSockets, Version: cfg.Version,
		BaseURL: cfg.BaseURL, Logger: cfg.Logger, Now: cfg.Now, NewRequestID: cfg.NewRequestID,
		Streams: sse.Streams{Ctx: s.streams, Admit: s.admit, Done: s.wg.Done, After: cfg.After, Log: cfg.Logger}})
	s.ask, s.tell = ask.New(cfg.Turns, cfg.Records.Messages, cfg.Hub, cfg.Logger), refuse.Teller{Log: cfg.Logger}
	s.route(s.rest)
	if cfg.Metrics != nil {
		cfg.Metrics.Gauge("sockets_live", func() float64 { return float64(s.socketCount()) })
	}
	for i, local := range []bool{false, true} {
		s.servers[i] = s.newHTTP(local)
	}
	return s
}

func after(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// localKey marks a request that came by a local listener.
type localKey struct{}

// isLocal tells whether the request came by a listener of ServeLocal.
func isLocal(c *fiber.Ctx) bool { return c.Context().UserValue(localKey{}) != nil }

func (s *Server) newHTTP(local bool) *fasthttp.Server {
	handler := s.app.Handler()
	return &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			if local {
				ctx.SetUserValue(localKey{}, true)
			}
			handler(ctx)
		},
		ErrorHandler:                 unreadable,
		HeaderReceived:               bodyLimit,
		MaxRequestBodySize:           maxBodyBytes,
		ReadTimeout:                  readLimit,
		IdleTimeout:                  idleLimit,
		ReadBufferSize:               16 << 10,
		NoDefaultServerHeader:        true,
		ConnState:                    s.onConnState,
		DisablePreParseMultipartForm: true,
		Logger:                       quiet{s.cfg.Logger},
	}
}

// bodyLimit lets uploads be larger than anything else.
func bodyLimit(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if string(h.Method()) == fiber.MethodPost && (string(h.RequestURI()) == apiRoot+"/documents" ||
		string(h.RequestURI()) == apiRoot+"/files") {
		return fasthttp.RequestConfig{MaxRequestBodySize: maxUploadBytes}
	}
	return fasthttp.RequestConfig{MaxRequestBodySize: maxBodyBytes}
}

// unreadable answers a request that fasthttp could not read.
func unreadable(ctx *fasthttp.RequestCtx, err error) {
	f := fault.Of(fault.Invalid)
	var timeout net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		f = fault.Of(fault.TooLarge)
	case errors.As(err, &timeout) && timeout.Timeout():
		f = fault.Of(fault.TooSlow)
	}
	ctx.Response.Reset()
	ctx.SetStatusCode(f.Status())
	ctx.SetContentType(fiber.MIMEApplicationJSON)
	body, _ := json.Marshal(refuse.Body{Error: f}) // strings always encode
	ctx.SetBody(body)
}

// quiet hands fasthttp's own lines, which are of clients that broke off, to the
// log where nobody looks first.
type quiet struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (q quiet) Printf(format string, args ...any) {
	q.log.Debug("http", "line", sprintf(format, args...))
}

// onError turns whatever a handler returned into a reply.
func (s *Server) onError(c *fiber.Ctx, err error) error {
	f := *s.tell.Of(err, caller.RequestOf(c))
	f.Request = caller.RequestOf(c)
	return refuse.Send(c, &f)
}

// recoverPanic turns a panic of a handler into a fault, and logs it.
func (s *Server) recoverPanic() fiber.Handler {
	return recover.New(recover.Config{
		EnableStackTrace: true,
		StackTraceHandler: func(c *fiber.Ctx, p any) {
			s.cfg.Logger.Error("a handler panicked", "request", caller.RequestOf(c), "path", c.Path(), "panic",
				sprintf("%v", p))
		},
	})
}

// Link makes a one-time sign-in link for a user. It is for operators and the host.
func (s *Server) Link(ctx context.Context, p identity.Principal, user store.User) (rest.Link, error) {
	return s.rest.Users.Link(ctx, p, user)
}
