// Package cassettetest runs an adapter against the cassettes of its folder, whole
// and cut. It is for tests; go test -update writes the golden parts anew.
package cassettetest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/cassette"
)

// patience is how long a server waits for its client to leave: more than any machine
// needs.
const patience = 2 * time.Minute

var update = flag.Bool("update", false, "write the golden parts of the cassettes anew")

// Adapter makes the model that asks the server at base, an address such as
// http://127.0.0.1:9; config is the cassette's, nil for none. The model has no time
// to wait and makes the same ids each time.
type Adapter func(t testing.TB, base string, config json.RawMessage) llm.Model

// Run plays every cassette of dir and compares what was sent and what came out. It
// fails where there are fewer than least.
func Run(t *testing.T, dir string, least int, adapter Adapter) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) < least {
		t.Fatalf("%d cassettes in %s, want %d at least: %v", len(paths), dir, least, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { run(t, path, adapter) })
	}
}

func run(t *testing.T, path string, adapter Adapter) {
	c, err := cassette.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.Comment == "" {
		t.Error("the comment does not say what it shows")
	}
	player := cassette.NewPlayer(c)
	events := play(t, player, c, adapter)
	sent := player.Sent()
	if len(sent) != len(c.Replies) {
		t.Errorf("%d requests for %d replies", len(sent), len(c.Replies))
	}
	if *update {
		c.Events = events
		for i, body := range sent[:min(len(sent), len(c.Sent))] {
			c.Sent[i] = cassette.Pretty(body)
		}
		if err := os.WriteFile(path, c.Format(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if events != c.Events {
		t.Errorf("events:\n%s\nwant:\n%s", events, c.Events)
	}
	for i, body := range sent[:min(len(sent), len(c.Sent))] {
		if got := cassette.Pretty(body); got != c.Sent[i] {
			t.Errorf("request %d:\n%s\nwant:\n%s", i+1, got, c.Sent[i])
		}
	}
}

// play asks the adapter's model with the cassette's request.
func play(t *testing.T, player *cassette.Player, c *cassette.Cassette, adapter Adapter) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(player.ServeHTTP))
	defer server.Close()
	model := adapter(t, server.URL, c.Config)
	return cassette.Describe(model.Stream(t.Context(), c.Request), strings.TrimPrefix(server.URL, "http://"))
}

// Cut plays one cassette cut at every byte of its last reply, in both ways in which
// a stream can end. What comes out must be a beginning of the whole, followed by an
// error that says so; or the whole, without its usage where that came last.
func Cut(t *testing.T, path string, adapter Adapter) {
	t.Helper()
	c, err := cassette.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	last := len(c.Replies) - 1
	whole := c.Replies[last].Body
	if len(whole) > 6<<10 {
		t.Fatalf("the reply has %d bytes; choose a shorter one", len(whole))
	}
	want := strings.SplitAfter(c.Events, "\n")
	for n := 0; n < len(whole); n++ {
		for _, hard := range []bool{false, true} {
			player := cassette.NewPlayer(&cassette.Cassette{Facts: c.Facts, Replies: []cassette.Reply{c.Replies[last]}})
			player.CutAt, player.Hard = n, hard
			got := play(t, player, &cassette.Cassette{Request: c.Request, Config: c.Config}, adapter)
			if !beginning(strings.SplitAfter(got, "\n"), want) {
				t.Fatalf("cut at %d of %d, hard %v:\n%s", n, len(whole), hard, got)
			}
		}
	}
}

// Stop plays one cassette, holds its last reply after each piece of it (before the
// headers, between two events, within an event) and cancels there. The server must
// see the client leave, the error be the context's unless the model had finished,
// and what came out before be a beginning of the whole.
func Stop(t *testing.T, path string, adapter Adapter) {
	t.Helper()
	c, err := cassette.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	reply := c.Replies[len(c.Replies)-1]
	for at := 0; at < len(reply.Body)-1; {
		stop(t, c, reply, at, adapter)
		next := strings.IndexByte(string(reply.Body[at:]), '\n')
		if next < 0 {
			break
		}
		if half := at + next/2; half > at {
			stop(t, c, reply, half, adapter)
		}
		at += next + 1
	}
}

func stop(t *testing.T, c *cassette.Cassette, reply cassette.Reply, at int, adapter Adapter) {
	t.Helper()
	player := cassette.NewPlayer(&cassette.Cassette{Facts: c.Facts, Replies: []cassette.Reply{reply}})
	player.CutAt, player.Hold = at, cassette.NewHold()
	server := httptest.NewServer(http.HandlerFunc(player.ServeHTTP))
	defer server.Close()
	model := adapter(t, server.URL, c.Config)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-player.Hold.Held:
		case <-player.Hold.Left:
		case <-ctx.Done():
		}
	}()
	var last error
	got := cassette.Describe(func(yield func(llm.Event, error) bool) {
		for ev, err := range model.Stream(ctx, c.Request) {
			if last = err; err == nil && !yield(ev, nil) {
				return
			}
		}
	}, strings.TrimPrefix(server.URL, "http://"))
	select {
	case <-player.Hold.Left:
	case <-time.After(patience):
		t.Fatalf("stopped at %d of %d: the server sees no client leave; what came out:\n%s\n%v", at, len(reply.Body),
			got, last)
	}
	whole := strings.Contains(got, "finish ") // the model had finished before it was stopped
	if !errors.Is(last, context.Canceled) && !whole {
		t.Fatalf("stopped at %d of %d: the error is %v", at, len(reply.Body), last)
	}
	if !strings.HasPrefix(c.Events, got) && !whole {
		t.Fatalf("stopped at %d of %d:\n%s", at, len(reply.Body), got)
	}
}

// beginning tells whether got is the beginning of want with an error, or want
// without its usage and what is kept for the provider.
func beginning(got, want []string) bool {
	at := 0
	for _, line := range got {
		if strings.HasPrefix(line, "error model_interrupted") || strings.HasPrefix(line, "error model_unreachable") &&
			at == 0 {
			return true
		}
		for at < len(want) && want[at] != line && strings.HasPrefix(want[at], "usage ") {
			at++
		}
		if at == len(want) || want[at] != line && !(strings.HasPrefix(line, "usage ") &&
			strings.HasPrefix(want[at], "usage ")) {
			return strings.HasPrefix(line, "usage ") || line == "" && at == len(want)
		}
		at++
	}
	return at == len(want)
}
