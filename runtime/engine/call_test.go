package engine_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

func TestGoPluginAnswers(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	cases := []struct{ export, in, want string }{
		{"echo", "hello, world", "hello, world"},
		{"echo", "", ""},
		{"shout", "quiet", "QUIET"},
		{"config", "key", "value"},
		{"config", "other", ""},
		{"ask", "Ada", "hello Ada"},
	}
	call := engine.Call{
		Config: map[string]string{"key": "value"},
		Host: func(name string) engine.HostFunc {
			if name != "greet" {
				return nil
			}
			return func(_ context.Context, in []byte) []byte { return append([]byte("hello "), in...) }
		},
	}
	for _, c := range cases {
		call.Export, call.Input = c.export, []byte(c.in)
		out, err := m.Call(t.Context(), call)
		if err != nil || string(out.Output) != c.want {
			t.Errorf("%s(%q) = %q, %v; want %q", c.export, c.in, out.Output, err, c.want)
		}
	}
}

func TestMegabyteComesBackWhole(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	in := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	out, err := m.Call(t.Context(), engine.Call{Export: "echo", Input: in})
	if err != nil || !bytes.Equal(out.Output, in) {
		t.Fatalf("%d bytes, %v", len(out.Output), err)
	}
	if out.MemoryBytes < 1<<20 || out.MemoryBytes > 64<<20 {
		t.Errorf("memory = %d", out.MemoryBytes)
	}
}

func TestEachCallSeesAFreshInstance(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	seen := map[string]bool{}
	for range 20 {
		out, err := m.Call(t.Context(), engine.Call{Export: "count"})
		if err != nil || string(out.Output) != "1" {
			t.Fatalf("count = %q, %v: state of another call was seen", out.Output, err)
		}
		out, err = m.Call(t.Context(), engine.Call{Export: "random"})
		if err != nil || seen[string(out.Output)] {
			t.Fatalf("random = %q, %v: bytes came twice", out.Output, err)
		}
		seen[string(out.Output)] = true
	}
}

func TestUngrantedHostFunctionAnswersDenied(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	for name, host := range map[string]func(string) engine.HostFunc{
		"no hook":       nil,
		"hook says nil": func(string) engine.HostFunc { return nil },
	} {
		out, err := m.Call(t.Context(), engine.Call{Export: "ask", Input: []byte("x"), Host: host})
		if err != nil || !strings.Contains(string(out.Output), `{"error":{"kind":"denied"`) {
			t.Errorf("%s: %q, %v", name, out.Output, err)
		}
	}
}

func TestLogReceivesLinesAndStreams(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	var lines []string
	_, err := m.Call(t.Context(), engine.Call{Export: "say", Log: func(level, message string) {
		lines = append(lines, level+": "+message)
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"info: to the log", "info: to stdout", "warn: to stderr"}
	if !slices.Equal(lines, want) {
		t.Errorf("lines = %q; want %q", lines, want)
	}
}

func TestGuestSeesNoFiles(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	out, err := m.Call(t.Context(), engine.Call{Export: "files"})
	if err != nil || !strings.HasPrefix(string(out.Output), "no: ") {
		t.Errorf("%q, %v", out.Output, err)
	}
}

func TestGuestErrorIsTyped(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	_, err := m.Call(t.Context(), engine.Call{Export: "fail"})
	want(t, err, engine.GuestError, "it went wrong")
}

func TestGoPanicIsTrapWithItsMessage(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	_, err := m.Call(t.Context(), engine.Call{Export: "crash"})
	want(t, err, engine.Trap, "the guest's own panic")
}

func TestGoGuestCannotTakeMoreThanItsMemory(t *testing.T) {
	m := loadGo(t, engine.Limits{MemoryMiB: 24})
	out, err := m.Call(t.Context(), engine.Call{Export: "hog"})
	want(t, err, engine.Trap, "out of memory")
	if out.MemoryBytes > 24<<20 {
		t.Errorf("memory = %d", out.MemoryBytes)
	}
	if out, err := m.Call(t.Context(), engine.Call{Export: "count"}); err != nil || string(out.Output) != "1" {
		t.Errorf("after it: %q, %v", out.Output, err)
	}
}

func TestOutputBeyondLimitIsRefused(t *testing.T) {
	m := loadGo(t, engine.Limits{})
	out, err := m.Call(t.Context(), engine.Call{Export: "echo", Input: make([]byte, 2000),
		Limits: engine.Limits{OutputBytes: 1000}})
	want(t, err, engine.OutputTooLarge, "2000")
	if out.Output != nil {
		t.Error("an output was returned")
	}
}

func TestMissingExport(t *testing.T) {
	var b wasmtest.Module
	b.Func("floats", wasmtest.Types{0x7d}, 0, []byte{0x43, 0, 0, 0, 0})
	m := load(t, b.Bytes(), engine.Limits{})
	for _, export := range []string{"nothing", "", "floats"} {
		_, err := m.Call(t.Context(), engine.Call{Export: export})
		want(t, err, engine.MissingExport, "exports")
	}
}

func TestProtocolByExports(t *testing.T) {
	cases := map[engine.Protocol][]string{
		engine.ToolsV2:     {"list_tools", "call_tool", "describe", "call"},
		engine.ToolsV1:     {"describe", "call"},
		engine.WASICommand: {"_start"},
		engine.Unknown:     {"call"},
	}
	for protocol, exports := range cases {
		var b wasmtest.Module
		for _, name := range exports {
			b.Func(name, number, 0, wasmtest.Const32(0))
		}
		m := load(t, b.Bytes(), engine.Limits{})
		if got := m.Protocol(); got != protocol || !slices.Equal(m.Exports(), exports) {
			t.Errorf("%v: %s, exports %v", exports, got, m.Exports())
		}
	}
}

func want(t *testing.T, err error, kind engine.CallKind, says string) {
	t.Helper()
	var failed *engine.CallError
	if !errors.As(err, &failed) {
		t.Fatalf("err = %v; want a %s", err, kind)
	}
	if failed.Kind != kind || !strings.Contains(failed.Message, says) {
		t.Errorf("%s: %q; want %s with %q", failed.Kind, failed.Message, kind, says)
	}
	if strings.Contains(failed.Message, "goroutine") || strings.Contains(failed.Message, ".go:") {
		t.Errorf("the message has a Go stack: %q", failed.Message)
	}
	if errors.Is(err, context.DeadlineExceeded) != (kind == engine.Timeout) ||
		errors.Is(err, context.Canceled) != (kind == engine.Cancelled) {
		t.Errorf("%s does not bridge to the context's error", kind)
	}
}
