package cassettetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/cassette"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Fuzz serves any bytes as the stream of an answer, of the given media type, and
// holds the adapter's model to what llm.Model promises: events that end with a
// Finish, or with an *llm.Error of the closed list. Its seeds are the streams of
// the cassettes that pattern names, and more; config is what the adapter gets.
func Fuzz(f *testing.F, pattern, mediaType string, adapter Adapter, config string, more ...string) {
	f.Helper()
	seeds, err := streams(pattern)
	if err != nil || len(seeds) == 0 {
		f.Fatalf("%d streams in %s: %v", len(seeds), pattern, err)
	}
	for _, seed := range more {
		seeds = append(seeds, []byte(seed))
	}
	for _, seed := range seeds {
		f.Add(seed)
	}
	var stream atomic.Pointer[[]byte]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/api/show") {
			_, _ = io.WriteString(w, "{}") // the client left
			return
		}
		w.Header().Set("Content-Type", mediaType)
		_, _ = w.Write(*stream.Load()) // the client left
	}))
	f.Cleanup(server.Close)
	model := adapter(f, server.URL, json.RawMessage(config))
	f.Fuzz(func(t *testing.T, data []byte) {
		stream.Store(&data)
		if err := promised(model.Stream(context.Background(),
			llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "x"}}})); err != nil {
			t.Fatal(err)
		}
	})
}

// streams are the bodies of the replies that succeed.
func streams(pattern string) ([][]byte, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, path := range paths {
		c, err := cassette.Load(path)
		if err != nil {
			return nil, err
		}
		for _, r := range c.Replies {
			if r.Status == http.StatusOK {
				out = append(out, r.Body)
			}
		}
	}
	return out, nil
}

// promised ranges over a stream and returns how it breaks what llm.Model promises.
func promised(stream func(func(llm.Event, error) bool)) error {
	var last llm.Event
	calls := 0
	for ev, err := range stream {
		if _, finished := last.(llm.Finish); finished {
			return fmt.Errorf("%#v, %v comes after the finish", ev, err)
		}
		if err != nil {
			var known *llm.Error
			if !errors.As(err, &known) {
				return fmt.Errorf("the error is %T %w", err, err)
			}
			if _, listed := packet.Codes[known.Code]; !listed {
				return fmt.Errorf("the code %q is not listed", known.Code)
			}
			return nil
		}
		switch e := ev.(type) {
		case llm.ToolCallDelta:
			if e.Index < 0 || e.Index > calls || e.Index < calls && e.ID+e.Name != "" {
				return fmt.Errorf("%#v after %d calls", e, calls)
			}
			calls = max(calls, e.Index+1)
		case llm.Native:
			if !json.Valid(e.Data) {
				return fmt.Errorf("what is kept is no JSON: %q", e.Data)
			}
		}
		last = ev
	}
	if _, finished := last.(llm.Finish); !finished {
		return fmt.Errorf("the last event is %#v", last)
	}
	return nil
}
