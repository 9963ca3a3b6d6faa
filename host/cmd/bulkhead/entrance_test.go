package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-host/bulkhead/host/api"
	"github.com/bulkhead-host/bulkhead/host/api/entrance"
	"github.com/bulkhead-host/bulkhead/host/app"
	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/plugins"
)

// watched is a host behind the socket of its data folder, with a look at what commands ask.
type watched struct {
	t    *testing.T
	app  *app.App
	data string
	mu   sync.Mutex // guards what follows
	// routes and users are of the requests since the last command.
	routes []entrance.Entry
	users  []string
}

func watch(t *testing.T) *watched {
	t.Helper()
	data, err := os.MkdirTemp("", "bulkhead-ways-*") // a socket's path must be short
	if err == nil {
		err = useModuleCache(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Default().With(func(c *config.Config) { c.Probe = false })
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.Open(t.Context(), app.Options{DataDir: data, Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, app: a, data: data}
	server, memory, served := a.Server(app.Door{BaseURL: "http://127.0.0.1:1"}), api.NewMemory(), make(chan error, 2)
	go func() { served <- server.ServeLocal(memory) }()
	ln, err := net.Listen("unix", filepath.Join(data, "run.sock"))
	if err != nil {
		t.Fatal(err)
	}
	target, _ := url.Parse("http://localhost") // it is one
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return memory.Dial(ctx) }
	inner := &http.Transport{DialContext: dial}
	proxy.Transport = inner
	outer := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.note(r)
		proxy.ServeHTTP(rw, r)
	})}
	go func() { served <- outer.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err := outer.Shutdown(ctx)
		inner.CloseIdleConnections()
		err = errors.Join(err, server.Shutdown(ctx))
		for range 2 {
			if failed := <-served; !errors.Is(failed, http.ErrServerClosed) && !errors.Is(failed, api.ErrStopped) {
				err = errors.Join(err, failed)
			}
		}
		if err := errors.Join(err, a.Close(ctx), os.RemoveAll(data)); err != nil {
			t.Error(err)
		}
	})
	return w
}

// note finds the route of a request.
func (w *watched) note(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.users = append(w.users, r.Header.Get("X-Bulkhead-User"))
	for _, pattern := range []bool{false, true} { // a route without a parameter wins
		for _, e := range entrance.Routes {
			method, path, _ := strings.Cut(e.Name, " ")
			if strings.Contains(path, ":") == pattern && method == r.Method && fits(path, r.URL.EscapedPath()) {
				w.routes = append(w.routes, e)
				return
			}
		}
	}
	w.t.Errorf("a command asks for %s %s, which is in no table", r.Method, r.URL.Path)
}

// fits tells whether a path is of a route.
func fits(route, path string) bool {
	want, got := strings.Split(route, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool {
		return w == g || strings.HasPrefix(w, ":") && g != ""
	})
}

// do runs a command and returns its exit code, what it wrote, and what it asked for as whom.
func (w *watched) do(args ...string) (code int, text string, did []identity.Action, users []string) {
	w.t.Helper()
	w.mu.Lock()
	w.routes, w.users = nil, nil
	w.mu.Unlock()
	var out bytes.Buffer
	code = run(w.t.Context(), append(args, "--data", w.data), strings.NewReader(""), &out, &out)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.routes {
		did = append(did, e.Actions...)
	}
	slices.Sort(did)
	return code, out.String(), slices.Compact(did), w.users
}

// leaves are the commands that do something.
func leaves(c *cobra.Command) []string {
	if !c.HasSubCommands() {
		return []string{strings.TrimPrefix(c.CommandPath(), "bulkhead ")}
	}
	var all []string
	for _, sub := range c.Commands() {
		all = append(all, leaves(sub)...)
	}
	return all
}

// TestEveryCommandIsInTheTable compares the table with the tree of commands.
func TestEveryCommandIsInTheTable(t *testing.T) {
	there := leaves(newRoot(new(bytes.Buffer), new(bytes.Buffer)))
	if len(there) < 20 {
		t.Fatalf("only %q were found", there)
	}
	for _, e := range entrance.Commands {
		if !slices.Contains(there, e.Name) {
			t.Errorf("the table has the command %s, which there is not, or twice", e.Name)
		}
		there = slices.DeleteFunc(there, func(name string) bool { return name == e.Name })
	}
	for _, name := range there {
		t.Errorf("the command %s stands in no table: say what it does", name)
	}
}

// TestCommandsGoThroughTheActionsOfTheTable runs each command that reaches a host and
// compares what it asks for, and as whom. Some fail, for want of what they are about; that
// they were let in is what counts.
func TestCommandsGoThroughTheActionsOfTheTable(t *testing.T) {
	w := watch(t)
	dir := t.TempDir()
	note := filepath.Join(dir, "note.md")
	module, err := plugins.Dist.ReadFile("dist/search.wasm")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "search.wasm"), module, 0o600)
	}
	grants := `[{"capability":"knowledge","mode":"allow"}]`
	err = errors.Join(err, os.WriteFile(note, []byte("The tide is high."), 0o600),
		os.WriteFile(filepath.Join(dir, "grants.json"), []byte(grants), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	ada := []string{"--user", "ada"}
	steps := []struct {
		command string
		args    []string
		fails   bool
	}{
		{"user add", []string{"ada"}, false},
		{"user link", []string{"ada"}, false},
		{"user list", nil, false},
		{"knowledge add", append([]string{note}, ada...), false},
		{"knowledge list", ada, false},
		{"knowledge search", append([]string{"tide"}, ada...), false},
		{"plugin run", append([]string{filepath.Join(dir, "search.wasm"), "internal_search", "--args",
			`{"queries":["tide"]}`, "--grant", filepath.Join(dir, "grants.json")}, ada...), false},
		{"knowledge remove", append([]string{note}, ada...), false},
		{"agent add", []string{"Tutor", "--tools", "internal_search"}, false},
		{"agent list", nil, false},
		{"chat", append([]string{"Is the tide high?", "--agent", "Tutor"}, ada...), false},
		{"agent remove", []string{"Tutor"}, false},
		{"model add", []string{"far", "--base-url", "http://127.0.0.1:1/v1"}, false},
		{"model list", nil, false},
		{"model test", []string{"extractive"}, false},
		{"model default", []string{"extractive"}, false},
		{"model remove", []string{"far"}, false},
		{"plugin list", nil, false},
		{"plugin config", []string{"search", "a=b"}, false},
		{"plugin held", []string{"search"}, false},
		{"plugin held", []string{"search", "--accept", "0123"}, true},
		{"user remove", []string{"ada"}, false},
	}
	done := map[string][]identity.Action{"serve": {identity.LinkUser}} // its link is made by no request
	for _, s := range steps {
		code, text, did, users := w.do(append(strings.Fields(s.command), s.args...)...)
		if (code != 0) != s.fails {
			t.Errorf("%s exits with %d: %s", s.command, code, text)
		}
		want := ""
		if slices.Contains(s.args, "--user") {
			want = "ada"
		}
		if len(users) == 0 || slices.ContainsFunc(users, func(u string) bool { return u != want }) {
			t.Errorf("%s acted as %q, want %q each time", s.command, users, want)
		}
		done[s.command] = append(done[s.command], did...)
	}
	for _, e := range entrance.Commands {
		want := slices.Sorted(slices.Values(e.Actions))
		got := slices.Compact(slices.Sorted(slices.Values(done[e.Name])))
		if !slices.Equal(want, got) {
			t.Errorf("%s went through %q, and the table says %q", e.Name, got, want)
		}
	}
}

// TestCommandsOfAnotherUserReachNothing tries the commands that take --user as somebody else.
func TestCommandsOfAnotherUserReachNothing(t *testing.T) {
	w := watch(t)
	ctx := t.Context()
	_, err := w.app.Store.Users().Create(ctx, w.app.Owner.Principal(identity.Command), "eve", false)
	if err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(t.TempDir(), "note.md")
	if err := os.WriteFile(note, []byte("The treasure lies under the lighthouse."), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text, _, _ := w.do("knowledge", "add", note); code != 0 {
		t.Fatal(text)
	}
	if code, text, _, _ := w.do("chat", "Where is the treasure?"); code != 0 {
		t.Fatal(text)
	}
	owner := w.app.Owner.Principal(identity.Command)
	docs, err1 := w.app.Store.Documents().List(ctx, owner)
	sessions, err2 := w.app.Store.Sessions().List(ctx, owner, 0, "")
	if err := errors.Join(err1, err2); err != nil || len(docs) != 1 || len(sessions) != 1 {
		t.Fatalf("%d documents, %d sessions, %v", len(docs), len(sessions), err)
	}
	for _, s := range []struct {
		args  []string
		fails bool
	}{
		{[]string{"knowledge", "list"}, false},
		{[]string{"knowledge", "search", "treasure"}, false},
		{[]string{"knowledge", "remove", docs[0].ID}, true},
		{[]string{"chat", "And where exactly?", "--session", sessions[0].ID}, true},
		{[]string{"chat", "Where is the treasure?"}, false},
	} {
		code, text, _, _ := w.do(append(s.args, "--user", "eve")...)
		if (code != 0) != s.fails || strings.Contains(text, "lighthouse") {
			t.Errorf("%q as eve exits with %d: %s", s.args, code, text)
		}
	}
	code, text, _, _ := w.do("knowledge", "list", "--user", "nobody")
	if code != 1 || !strings.Contains(text, "no user") {
		t.Errorf("as a user who is not there: %d %s", code, text)
	}
	after, err := w.app.Store.Messages().List(ctx, owner, sessions[0].ID)
	if left, err := w.app.Store.Documents().List(ctx, owner); err != nil || len(left) != 1 {
		t.Errorf("%d documents are left, %v", len(left), err)
	}
	if err != nil || len(after) != 2 {
		t.Errorf("the owner's conversation has %d messages, %v", len(after), err)
	}
}
