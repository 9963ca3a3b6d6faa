package plugintool_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/plugintool"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

func TestRunGrantsNothingUnlessSaid(t *testing.T) {
	s := open(t)
	var logged []string
	with := plugintool.Surroundings{
		Engine: s.engine, Services: hostfunc.Services{Storage: s.store.Space("run")}, Audit: s.log,
	}
	request := plugintool.Request{
		WASM: guesttest.Packed(t, built.Probe, guesttest.ProbeManifest), Tool: "show",
		Log: func(level, message string) { logged = append(logged, level+" "+message) },
	}
	r, err := plugintool.Run(t.Context(), with, request)
	if err != nil || r.Result.Failure == nil || !strings.Contains(r.Result.Text, "denied") {
		t.Fatalf("%+v, %v", r, err)
	}
	if !reflect.DeepEqual(logged, []string{"warn the probe logs"}) {
		t.Errorf("logged %q", logged)
	}
	request.Grants = capability.Grants{"emit": {Capability: "emit", Mode: capability.Allow}}
	if r, err = plugintool.Run(t.Context(), with, request); err != nil || r.Result.Text != "shown" {
		t.Fatalf("%+v, %v", r, err)
	}
	request.Tool, request.Grants = "context", capability.Grants{"context": {Capability: "context",
		Mode: capability.Allow}}
	if request.Meta, err = plugintool.ReadMeta([]byte(`{"bulkhead/query":"why?","refs":{"start":5,"count":6}}`)); err != nil {
		t.Fatal(err)
	}
	if r, err = plugintool.Run(t.Context(), with, request); err != nil || !strings.Contains(r.Result.Text, "why?") ||
		!strings.Contains(r.Result.Text, `"start":5`) {
		t.Fatalf("%+v, %v", r, err)
	}
	request.Tool = "shwo"
	_, err = plugintool.Run(t.Context(), with, request)
	wantFault(t, err, guest.UnknownTool)
	for _, bad := range []string{`[]`, `{"quary":"x"}`, `{"refs":5}`} {
		if _, err := plugintool.ReadMeta([]byte(bad)); err == nil {
			t.Errorf("meta %s was taken", bad)
		}
	}
}

func TestStopEndsACallThatLoops(t *testing.T) {
	s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	with := plugintool.Surroundings{Engine: s.engine, Audit: s.log}
	entered := false
	r, err := plugintool.Run(ctx, with, plugintool.Request{WASM: guesttest.Bad(guesttest.Loops), Tool: "bad",
		Log: func(string, string) {
			entered = true
			cancel()
		}})
	if err != nil || !entered || r.Result.Failure == nil || !strings.Contains(r.Result.Failure.Message, "was stopped") {
		t.Errorf("entered %v, result %+v, %v", entered, r.Result, err)
	}
}

func TestPortableBuildAnswersTheSame(t *testing.T) {
	s := open(t)
	source := knowledge.Source{
		URI: "plugins.md", Name: "plugins.md", ModTime: noon,
		Data: []byte("# Plugins\n\n## How do I declare a capability?\n\nYou declare a capability in the manifest.\n"),
	}
	if _, err := s.base.Add(t.Context(), s.owner, source); err != nil {
		t.Fatal(err)
	}
	with := plugintool.Surroundings{Engine: s.engine, Services: hostfunc.Services{Knowledge: s.base}, Audit: s.log}
	request := plugintool.Request{
		Tool: "internal_search", Arguments: json.RawMessage(`{"queries":["declare a capability"]}`),
		User:   s.owner.UserID(),
		Grants: capability.Grants{"knowledge": {Capability: "knowledge", Mode: capability.Allow}},
	}
	var raw []string
	for _, wasm := range [][]byte{built.Search, built.Portable} {
		request.WASM = wasm
		r, err := plugintool.Run(t.Context(), with, request)
		if err != nil || r.Result.Failure != nil || r.MemoryBytes == 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		raw = append(raw, string(r.Raw))
	}
	if raw[0] != raw[1] {
		t.Errorf("the outputs differ:\n%s\n%s", raw[0], raw[1])
	}
	in, err := plugintool.Inspect(t.Context(), s.engine, built.Portable)
	if err != nil || strings.Contains(strings.Join(in.Imports, " "), "bulkhead:") {
		t.Errorf("the portable build imports %v, %v", in.Imports, err)
	}
}

func TestABadFileIsRefusedWithASentence(t *testing.T) {
	s := open(t)
	for _, c := range guesttest.BadFiles(t, built.Search) {
		t.Run(c.Name, func(t *testing.T) {
			_, err := plugintool.Inspect(t.Context(), s.engine, c.WASM)
			lists := c.Kind == guest.BadTools || c.Says == "list_tools" // what shows when tools are listed
			if lists && err != nil {
				t.Errorf("inspect: %v", err)
			} else if !lists {
				wantFault(t, err, c.Kind)
			}
			with := plugintool.Surroundings{Engine: s.engine, Audit: s.log}
			_, err = plugintool.Run(t.Context(), with, plugintool.Request{WASM: c.WASM, Tool: "bad"})
			wantFault(t, err, c.Kind)
		})
	}
}

// TestRunServesWhatTheHostHas calls built-in tools that need more than documents.
func TestRunServesWhatTheHostHas(t *testing.T) {
	s := open(t)
	all := func(capabilities ...string) capability.Grants {
		grants := capability.Grants{}
		for _, c := range capabilities {
			grants[c] = capability.Grant{Capability: c, Mode: capability.Allow}
		}
		return grants
	}
	with := plugintool.Surroundings{
		Engine: s.engine, Services: hostfunc.Services{Memories: s.store.Memories(), Sessions: s.store.Sessions(),
			Files: s.store.Files(), Runs: s.store.Runs(), Messages: s.store.Messages()}, Audit: s.log,
	}
	add := plugintool.Request{
		WASM: built.Memory, Tool: "add_memory", Arguments: json.RawMessage(`{"text":"likes tea"}`),
		User: s.owner.UserID(), Grants: all("memory"),
	}
	if r, err := plugintool.Run(t.Context(), with, add); err != nil || r.Result.Failure != nil {
		t.Fatalf("%+v, %v", r.Result, err)
	}
	list, err := s.store.Memories().List(t.Context(), s.owner)
	if err != nil || len(list) != 1 || list[0].Text != "likes tea" || list[0].Plugin != "memory" {
		t.Errorf("remembered is %+v, %v", list, err)
	}
	read := plugintool.Request{
		WASM: guesttest.Packed(t, built.Files, `{"manifest":1,"name":"files","version":"1","capabilities":{"files":{"scope":"user"}}}`),
		Tool: "read_file", Arguments: json.RawMessage(`{"file":"a.txt"}`), User: s.owner.UserID(), Grants: all("files"),
	}
	file := store.File{Name: "a.txt", MediaType: "text/plain", Encoding: "utf-8"}
	if _, err := s.store.Files().Add(t.Context(), s.owner, file, []byte("what is in it")); err != nil {
		t.Fatal(err)
	}
	r, err := plugintool.Run(t.Context(), with, read)
	if err != nil || !strings.Contains(r.Result.Text, "what is in it") {
		t.Errorf("a file: %+v, %v", r.Result, err)
	}
	ask := plugintool.Request{
		WASM: guesttest.Packed(t, built.Probe, `{"manifest":1,"name":"probe","version":"1","capabilities":{"model":{}}}`),
		Tool: "ask_model", Arguments: json.RawMessage(`{"text":"why?"}`), Grants: all("model"),
	}
	if r, err = plugintool.Run(t.Context(), with, ask); err != nil ||
		!strings.Contains(r.Result.Text, "lets plugins ask no model") {
		t.Errorf("without a model: %+v, %v", r.Result, err)
	}
	with.Services.Models = echo{}
	if r, err = plugintool.Run(t.Context(), with, ask); err != nil ||
		!strings.Contains(r.Result.Text, "you said why?") {
		t.Errorf("with a model: %+v, %v", r.Result, err)
	}
}

// echo is a model that says what it was told.
type echo struct{}

func (echo) Complete(_ context.Context, q hostfunc.Question) (hostfunc.Answer, error) {
	return hostfunc.Answer{Model: "echo", Text: "you said " + q.Messages[len(q.Messages)-1].Text}, nil
}

func (echo) Local([]string) bool { return true }
