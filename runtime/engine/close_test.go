package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
)

func TestCloseWaitsForRunningCalls(t *testing.T) {
	m := load(t, asking(), engine.Limits{})
	inside, closing := make(chan struct{}), make(chan struct{})
	result := make(chan error, 1)
	go func() {
		_, err := m.Call(context.Background(), engine.Call{Export: "call",
			Host: hostOf(func(_ context.Context, in []byte) []byte {
				close(inside)
				<-closing
				return in
			})})
		result <- err
	}()
	enters(t, inside, result)
	closed := make(chan error, 1)
	go func() { closed <- m.Close(context.Background()) }()
	for { // new calls are refused as soon as Close began
		if _, err := m.Call(context.Background(), engine.Call{Export: "none"}); errors.Is(err, engine.ErrClosed) {
			break
		}
	}
	select {
	case <-closed:
		t.Fatal("Close returned while a call was running")
	default:
	}
	close(closing)
	if err := <-result; err != nil {
		t.Errorf("the running call: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := m.Close(context.Background()); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// enters waits until a call is inside of the host, and fails where it ends before.
func enters(t *testing.T, inside <-chan struct{}, result <-chan error) {
	t.Helper()
	select {
	case <-inside:
	case err := <-result:
		t.Fatalf("the call did not reach the host: %v", err)
	}
}

func TestCloseCancelsCallsWhenItsContextEnds(t *testing.T) {
	m := load(t, asking(), engine.Limits{})
	inside := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		_, err := m.Call(context.Background(), engine.Call{Export: "call",
			Host: hostOf(func(ctx context.Context, _ []byte) []byte {
				close(inside)
				<-ctx.Done()
				return nil
			})})
		result <- err
	}()
	enters(t, inside, result)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Close(ctx); err != nil {
		t.Error(err)
	}
	want(t, <-result, engine.Cancelled, "being closed")
}

func TestClosedEngineLoadsNothing(t *testing.T) {
	e := newEngine(t, engine.Config{})
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Load(t.Context(), asking(), engine.Limits{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("err = %v", err)
	}
}

// TestHammer calls, cancels, loads and closes at once. It proves with -race that
// nothing is shared, and that every call ends with a typed error or its own output.
func TestHammer(t *testing.T) {
	e := newEngine(t, engine.Config{Spares: 2, CacheDir: goCache})
	for range 4 {
		m, err := e.Load(t.Context(), goPlugin, engine.Limits{Concurrency: 3})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg, warm sync.WaitGroup
		for worker := range 8 {
			warm.Add(1)
			wg.Go(func() {
				for i := range 12 {
					if i == 6 {
						warm.Done()
					}
					hammer(t, ctx, m, worker, i)
				}
			})
		}
		warm.Wait()
		cancel()
		if err := m.Close(ctx); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}

func hammer(t *testing.T, ctx context.Context, m *engine.Module, worker, i int) {
	exports := []string{"echo", "count", "crash", "ask"}
	call := engine.Call{Export: exports[(worker+i)%len(exports)], Input: []byte("payload")}
	if i%3 == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		call.Host = hostOf(func(context.Context, []byte) []byte { cancel(); return nil })
	}
	out, err := m.Call(ctx, call)
	var failed *engine.CallError
	switch {
	case err == nil:
		if call.Export == "echo" && string(out.Output) != "payload" || call.Export == "count" &&
			string(out.Output) != "1" {
			t.Errorf("%s = %q", call.Export, out.Output)
		}
	case errors.As(err, &failed):
		if failed.Kind != engine.Cancelled && failed.Kind != engine.Trap {
			t.Errorf("%s: %s %v", call.Export, failed.Kind, err)
		}
	case !errors.Is(err, engine.ErrClosed):
		t.Errorf("%s: %v", call.Export, err)
	}
}
