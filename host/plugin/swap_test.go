package plugin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// TestNoCallFailsWhileAPluginIsReplaced replaces a plugin again and again while others call
// its tools, those that they hold since the begin and those that are listed now.
func TestNoCallFailsWhileAPluginIsReplaced(t *testing.T) {
	s := withProbe(t)
	held := s.tool(t, "random")
	var stop atomic.Bool
	var calls atomic.Int64
	var workers sync.WaitGroup
	for worker := range 4 {
		workers.Go(func() {
			for n := 0; !stop.Load(); n++ {
				called := held
				if n%2 == 0 {
					tools, err := s.manager.Tools(t.Context(), s.owner.UserID(), ownName)
					if err != nil {
						t.Error(err)
						return
					}
					for _, tl := range tools {
						if tl.Spec().Name == "random" {
							called = tl
						}
					}
				}
				r, err := called.Call(t.Context(), tool.Invocation{
					CallID: fmt.Sprintf("call_%d_%d", worker, n), User: s.owner.UserID(),
					Arguments: json.RawMessage(`{}`),
					Refs:      tool.Refs{Start: 1, Count: 10}, Now: noon, Report: &watcher{},
				})
				if err != nil || r.Failure != nil {
					t.Errorf("call %d: %+v, %v", n, r.Failure, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for version := range 12 {
		manifest := strings.Replace(guesttest.ProbeManifest, `"version":"1"`,
			fmt.Sprintf(`"version":"1.%d"`, version+1), 1)
		before := calls.Load()
		if err := s.install(t, map[string][]byte{"probe.wasm": guesttest.Packed(t, built.Probe,
			manifest)}); err != nil {
			t.Error(err)
		}
		for calls.Load() < before+4 && !t.Failed() {
			// Some calls run on each version.
			if _, err := s.manager.List(t.Context(), anOperator); err != nil {
				t.Error(err)
			}
		}
	}
	stop.Store(true)
	workers.Wait()
}
