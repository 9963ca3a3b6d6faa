package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
	"github.com/bulkhead-host/bulkhead/host/turn"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// fasthttp keeps the text of the current second up to date for ever.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		// bleve's worker pool for analysis lives as long as the process.
		goleak.IgnoreAnyFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

// testHost is a whole host on loopback: a real store, real turns, a real
// knowledge base, and a model behind the real client.
type testHost struct {
	t      *testing.T
	server *Server
	store  *store.Store
	turns  *turn.Service
	// screen is the turns' Screen, nil to take every message as it is.
	screen func(context.Context, identity.Principal, string) (turn.Screened, error)
	model  *llmtest.Server
	base   string
	// quiet, when it is not nil, takes the place of the silence after which
	// heartbeats go out.
	quiet  *ticks
	cookie string
	log    *bytes.Buffer
	// logMu guards log.
	logMu  sync.Mutex
	client *http.Client
}

// patience is how long a test waits for what must come: more than any machine needs, so
// that a test that waits in vain fails with a sentence.
const patience = 2 * time.Minute

// ticks is a clock whose waits end when the test says.
type ticks struct{ c chan time.Time }

func (k *ticks) after(time.Duration) (<-chan time.Time, func()) { return k.c, func() {} }

// silence ends the wait of one reader, as if nothing had come for a while.
func (h *testHost) silence() {
	h.t.Helper()
	select {
	case h.quiet.c <- time.Time{}:
	case <-time.After(patience):
		h.t.Fatal("no reader waits for the silence after which heartbeats go out")
	}
}

// anOperator is an operator of no account, for what only operators may do.
var anOperator = identity.New(identity.Account{ID: "u_operator", Roles: []identity.Role{identity.Operator}},
	identity.Command)

// only is a catalog of one model.
type only struct{ llm.Model }

func (o only) Get(name string) (llm.Model, bool) { return o.Model, name == o.Info().Name }
func (o only) Default() string                   { return o.Info().Name }
func (o only) List() []llm.Info                  { return []llm.Info{o.Info()} }

// noPlugins is a host on which nothing is installed.
type noPlugins struct{}

func (noPlugins) Tools(context.Context, string) ([]tool.Tool, error) { return nil, nil }
func (noPlugins) Resolve(_ context.Context, words []string) (meant []toolset.Meant, _ error) {
	for _, w := range words {
		meant = append(meant, toolset.Meant{ID: w, Name: w})
	}
	return meant, nil
}
func (noPlugins) List(context.Context, identity.Principal) ([]rest.Plugin, error) { return nil, nil }
func (noPlugins) Configure(context.Context, identity.Principal, string, map[string]*string) error {
	return errNoPlugin
}
func (noPlugins) Accept(context.Context, identity.Principal, string, string) error {
	return errNoPlugin
}
func (noPlugins) ForgetUser(context.Context, identity.Principal, string) error { return nil }

var errNoPlugin = fault.New(fault.UnknownPlugin, "No such plugin is installed.")

var testPage = fstest.MapFS{
	"index.html":       {Data: []byte("<!doctype html><title>page</title>")},
	"assets/app-1a.js": {Data: []byte("export {}")},
	"favicon.svg":      {Data: []byte("<svg/>")},
}

func newHost(t *testing.T, change ...func(*Config)) *testHost {
	t.Helper()
	h := &testHost{t: t, log: new(bytes.Buffer), quiet: &ticks{make(chan time.Time)}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	logger := slog.New(slog.NewTextHandler(lockedWriter{&h.logMu, h.log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	h.store, err = store.Open(filepath.Join(dir, "bulkhead.db"), store.Options{})
	must(err)
	owner, _, err := h.store.Users().EnsureOwner(t.Context())
	must(err)
	h.model, err = llmtest.Start()
	must(err)
	models := egress.ModelClient(h.model.URL())
	model, err := openai.New(openai.Config{Name: "scripted", Provider: "openai", BaseURL: h.model.URL(),
		Model: "scripted", HTTPClient: models})
	must(err)
	base, err := knowledge.Open(t.Context(), knowledge.Config{Dir: filepath.Join(dir, "index"),
		Documents: h.store.Documents(), People: h.store.Users()})
	must(err)
	hub := new(event.Hub)
	records, err := journal.Open(t.Context(), h.store.DB(), journal.Options{Tick: time.Millisecond})
	must(err)
	h.turns = turn.New(turn.Config{Records: turn.RecordsOf(h.store), Journal: records, Models: only{model},
		Logger: logger,
		Screen: func(ctx context.Context, p identity.Principal, text string) (turn.Screened, error) {
			if h.screen == nil {
				return turn.Screened{Text: text}, nil
			}
			return h.screen(ctx, p, text)
		},
		Tools: func(context.Context, string) ([]tool.Tool, error) { return nil, nil },
		Changed: func(user, session string) {
			hub.Publish(user, event.Event{Topic: "session", ID: session, Change: "updated"})
		}})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	h.base = "http://" + ln.Addr().String()
	cfg := Config{Records: rest.RecordsOf(h.store), Doors: h.store.SignIns(), Turns: h.turns, Knowledge: base,
		Models: only{model}, Plugins: noPlugins{}, Hub: hub,
		Page: testPage, Version: "test", BaseURL: h.base, LoopbackOnly: true, Logger: logger, After: h.quiet.after}
	for _, c := range change {
		c(&cfg)
	}
	h.server = New(cfg)
	served := make(chan error, 1)
	go func() {
		err := h.server.Serve(ln)
		if errors.Is(err, ErrStopped) { // the test was over before it began
			err = nil
		}
		served <- err
	}()
	token, _, err := h.store.SignIns().CreateLink(t.Context(), anOperator, owner.ID, time.Hour)
	must(err)
	h.cookie, _, err = h.store.SignIns().RedeemLink(t.Context(), token)
	must(err)
	h.client = &http.Client{CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}, Transport: &http.Transport{}, Timeout: patience}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		h.client.CloseIdleConnections()
		err := errors.Join(h.server.Shutdown(ctx), <-served, h.turns.Close(ctx), h.model.Close(), base.Close(),
			errors.Join(records.Close(), h.store.Close()))
		models.CloseIdleConnections()
		if err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(h.logged())
		}
	})
	return h
}

// logged is what was logged so far.
func (h *testHost) logged() string {
	h.logMu.Lock()
	defer h.logMu.Unlock()
	return h.log.String()
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// request makes a request of a signed-in browser; header are pairs.
func (h *testHost) request(method, path, body string, header ...string) *http.Request {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.base+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: cookieName, Value: h.cookie})
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	return r
}

// do sends a request and reads the whole reply.
func (h *testHost) do(r *http.Request) (*http.Response, []byte) {
	h.t.Helper()
	res, err := h.client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res, data
}

// call sends a request, checks the status and decodes the reply into out.
func (h *testHost) call(method, path, body string, status int, out any, header ...string) {
	h.t.Helper()
	res, data := h.do(h.request(method, path, body, header...))
	if res.StatusCode != status {
		h.t.Fatalf("%s %s: status %d, want %d: %s", method, path, res.StatusCode, status, data)
	}
	if out != nil {
		if err := json.Unmarshal(data, out); err != nil {
			h.t.Fatalf("%s %s: %v in %s", method, path, err, data)
		}
	}
}

// fails sends a request and checks status and code of the error.
func (h *testHost) fails(r *http.Request, status int, code fault.Code) {
	h.t.Helper()
	res, data := h.do(r)
	var reply struct{ Error fault.Error }
	if err := json.Unmarshal(data, &reply); err != nil {
		h.t.Fatalf("%s %s: %d %s", r.Method, r.URL, res.StatusCode, data)
	}
	if res.StatusCode != status || reply.Error.Code != code || reply.Error.Message == "" {
		h.t.Fatalf("%s %s: %d %s, want %d %s", r.Method, r.URL, res.StatusCode, data, status, code)
	}
}

func sendJSONBody(text string) string {
	data, _ := json.Marshal(map[string]any{"request_id": uuid.NewString(), "text": text}) // strings encode
	return string(data)
}
