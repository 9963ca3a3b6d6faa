package main

import (
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bulkhead-host/bulkhead/host/llm/cassette"
)

// players are the model servers of the scripts, by the script's folder.
var players sync.Map

// playCassette starts a model server that plays a file of testdata/cassettes, and
// sets $MODEL to its address: cassette ollama.
func playCassette(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: cassette NAME")
	}
	dir := ts.Getenv("CASSETTES")
	tape, err := cassette.Load(filepath.Join(dir, args[0]+".txtar"))
	ts.Check(err)
	player := cassette.NewPlayer(tape)
	server := httptest.NewServer(player)
	ts.Defer(server.Close)
	players.Store(ts.MkAbs("."), player)
	ts.Setenv("MODEL", server.URL)
}

// checkSent checks that a body that was posted to the cassette's server holds a
// text, or with ! that it does not: sent 2 "tool_result".
func checkSent(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sent N TEXT")
	}
	player, ok := players.Load(ts.MkAbs("."))
	n, err := strconv.Atoi(args[0])
	if !ok || err != nil {
		ts.Fatalf("no cassette plays, or %q is no number", args[0])
	}
	sent := player.(*cassette.Player).Sent()
	if n < 1 || n > len(sent) {
		ts.Fatalf("%d bodies were sent", len(sent))
	}
	if body := string(sent[n-1]); strings.Contains(body, args[1]) == neg {
		ts.Fatalf("body %d: %s", n, cassette.Pretty([]byte(body)))
	}
}

var sessionLine = regexp.MustCompile(`(?m)^session (s_\S+)`)

// noteSession sets $SESSION to the session that the last command named.
func noteSession(ts *testscript.TestScript, _ bool, _ []string) {
	m := sessionLine.FindStringSubmatch(ts.ReadFile("stderr"))
	if m == nil {
		ts.Fatalf("no session was named")
	}
	ts.Setenv("SESSION", m[1])
}
