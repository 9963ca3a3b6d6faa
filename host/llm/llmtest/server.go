// Package llmtest is a model server for tests: an OpenAI-compatible endpoint on
// loopback that answers from a script. Tests of any room talk to it through the
// real client code.
//
// Replies come in, HTTP goes out; what was asked is recorded. It knows nothing of
// the host beyond the wire format, and no model is behind it.
package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Request is one request as the server got it.
type Request struct {
	Path   string
	Header http.Header
	// Raw is the body; Body is the same decoded, the zero value where it is not of
	// that shape.
	Raw  []byte
	Body Body
}

// Body is what a chat completion asks, as far as tests look at it.
type Body struct {
	Model         string          `json:"model"`
	Stream        bool            `json:"stream"`
	StreamOptions json.RawMessage `json:"stream_options"`
	Messages      []Message       `json:"messages"`
	Tools         []Tool          `json:"tools"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	MaxTokens     int             `json:"max_tokens"`
}

// Message is one message of a request.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCallID string     `json:"tool_call_id"`
	ToolCalls  []ToolCall `json:"tool_calls"`
}

// ToolCall is a call in an assistant message.
type ToolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Tool is a tool on offer.
type Tool struct {
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Offers tells whether a tool of that name is on offer.
func (r Request) Offers(name string) bool {
	return slices.ContainsFunc(r.Body.Tools, func(t Tool) bool { return t.Function.Name == name })
}

// Last returns the last message, the zero value where there is none.
func (r Request) Last() Message {
	if len(r.Body.Messages) == 0 {
		return Message{}
	}
	return r.Body.Messages[len(r.Body.Messages)-1]
}

// Server is a scripted endpoint. It is safe for concurrent use.
type Server struct {
	http     *http.Server
	listener net.Listener
	served   chan struct{}
	ctx      context.Context
	stop     context.CancelFunc
	handlers sync.WaitGroup

	mu       sync.Mutex // guards what follows
	replies  []*Reply
	answer   func(Request) *Reply
	requests []Request
	ended    int // replies that are over, for whatever reason
	models   []string
	changed  chan struct{} // closed and replaced with each request and each end
	closed   bool
}

// Start returns a server on a free port of loopback that gives the replies one
// after another. The caller closes it.
func Start(replies ...*Reply) (*Server, error) { return Listen("127.0.0.1:0", nil, replies...) }

// Listen is Start on an address, with more routes than the model's in extra
// (nil for none).
func Listen(address string, extra http.Handler, replies ...*Reply) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	s := &Server{listener: listener, served: make(chan struct{}), replies: replies, models: []string{"scripted"},
		changed: make(chan struct{})}
	s.ctx, s.stop = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("GET /v1/models", s.list)
	if extra != nil {
		mux.Handle("/", extra)
	}
	s.http = &http.Server{Handler: mux}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // returns when Close closes it
	}()
	return s, nil
}

// URL is the base URL for a client, ending in /v1.
func (s *Server) URL() string { return "http://" + s.Address() + "/v1" }

// Address is host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close ends all streams and waits for their handlers.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	err := s.http.Close()
	<-s.served
	s.handlers.Wait()
	return err
}

// Add appends replies to the script.
func (s *Server) Add(replies ...*Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies = append(s.replies, replies...)
}

// Answer sets what makes a reply when the script is at its end.
func (s *Server) Answer(answer func(Request) *Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Models sets the names that /v1/models lists.
func (s *Server) Models(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = names
}

// Requests returns the completions asked for so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Patience is how long a wait of a Server lasts at most: more than any machine needs,
// so that a test that waits in vain says for what.
const Patience = 2 * time.Minute

// WaitRequests waits until n completions were asked for, at most for Patience.
func (s *Server) WaitRequests(ctx context.Context, n int) error {
	return s.wait(ctx, "request", n, func() int { return len(s.requests) })
}

// WaitEnded waits until n replies are over: given whole, broken off, or left by
// the client, which a held reply notices at once. It waits at most for Patience.
func (s *Server) WaitEnded(ctx context.Context, n int) error {
	return s.wait(ctx, "end of reply", n, func() int { return s.ended })
}

// wait returns when count, called with s.mu held, is at least n.
func (s *Server) wait(ctx context.Context, what string, n int, count func() int) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for {
		s.mu.Lock()
		have, changed := count(), s.changed
		s.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s %d, have %d: %w", what, n, have, ctx.Err())
		case <-changed:
		}
	}
}

// notify wakes those who wait. The caller holds s.mu.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := []map[string]any{}
	for _, name := range s.models {
		data = append(data, map[string]any{"id": name, "object": "model"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data}) // the client left
}

// complete records the request and serves its reply.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		return
	}
	defer s.handlers.Done()
	defer s.end()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Raw: raw}
	_ = json.Unmarshal(raw, &req.Body) // Raw stays for what is not of this shape
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if err := s.next(req).serve(ctx, w); err != nil {
		panic(http.ErrAbortHandler) // breaks the connection, as a crashed server does
	}
}

// enter counts a handler in, unless the server is closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.handlers.Add(1)
	return true
}

// end counts a reply as over.
func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended++
	s.notify()
}

// next records a request and takes its reply.
func (s *Server) next(req Request) *Reply {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.notify()
	answer := s.answer
	var reply *Reply
	if len(s.replies) > 0 {
		reply, s.replies = s.replies[0], s.replies[1:]
	}
	s.mu.Unlock()
	if reply == nil && answer != nil {
		reply = answer(req)
	}
	if reply == nil {
		reply = Status(http.StatusInternalServerError, `{"error":{"message":"llmtest: the script has no reply left"}}`)
	}
	return reply
}
