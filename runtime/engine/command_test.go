package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

func loadProgram(t *testing.T, limits engine.Limits) *engine.Module {
	t.Helper()
	m, err := newEngine(t, engine.Config{CacheDir: goCache}).Load(t.Context(), program, limits)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAProgramHasArgumentsStdinAndAnExitCode(t *testing.T) {
	m := loadProgram(t, engine.Limits{})
	if m.Protocol() != engine.WASICommand {
		t.Fatalf("protocol %s", m.Protocol())
	}
	var log []string
	cases := []struct {
		args   []string
		stdin  string
		stdout string
		stderr string
		code   int32
	}{
		{[]string{"p", "args", "a b", "", "ü"}, "", "[\"a b\" \"\" \"ü\"]\n", "", 0},
		{[]string{"p", "upper"}, "a text", "A TEXT", "", 0},
		{[]string{"p", "upper"}, "", "", "", 0},
		{[]string{"p", "upper"}, strings.Repeat("long ", 100_000), strings.Repeat("LONG ", 100_000), "", 0},
		{[]string{"p", "env"}, "", "0\n", "", 0},
		{[]string{"p", "exit", "3"}, "", "before\n", "the reason\n", 3},
		{[]string{"p", "panic"}, "", "", "panic: it broke", 2},
		{[]string{"p"}, "", "", "usage: command WHAT\n", 2},
		{nil, "", "", "usage: command WHAT\n", 2},
		{[]string{"p", "raw"}, "", "a\xffb", "", 0},
		{[]string{"p", "read", "/etc/passwd"}, "", "", "open /etc/passwd", 1},
	}
	for _, c := range cases {
		out, err := m.Run(t.Context(), engine.Command{Args: c.args, Stdin: []byte(c.stdin),
			Log: func(level, line string) { log = append(log, level+" "+line) }})
		if err != nil || out.Code != c.code || string(out.Output) != c.stdout ||
			!strings.HasPrefix(string(out.Stderr), c.stderr) {
			t.Errorf("%q: code %d, stdout %.80q, stderr %.80q, %v", c.args, out.Code, out.Output, out.Stderr, err)
		}
		if out.Fuel == 0 || out.MemoryBytes == 0 || out.Duration == 0 {
			t.Errorf("%q: %d instructions, %d bytes, %s", c.args, out.Fuel, out.MemoryBytes, out.Duration)
		}
	}
	if all := strings.Join(log, "\n"); !strings.Contains(all, "warn the reason") || strings.Contains(all, "before") {
		t.Errorf("log %q", all)
	}
}

func TestAProgramIsEndedByItsLimits(t *testing.T) {
	m := loadProgram(t, engine.Limits{OutputBytes: 100_000})
	run := func(ctx context.Context, limits engine.Limits, what string) (engine.CommandOutcome, error) {
		return m.Run(ctx, engine.Command{Args: []string{"p", what}, Limits: limits})
	}
	out, err := run(t.Context(), engine.Limits{}, "flood")
	want(t, err, engine.OutputTooLarge, "100000 bytes")
	if len(out.Output) > 100_000 {
		t.Errorf("%d bytes came out", len(out.Output))
	}
	_, err = run(t.Context(), engine.Limits{Timeout: 10 * quick}, "loop")
	want(t, err, engine.Timeout, "in time")
	_, err = run(t.Context(), engine.Limits{Timeout: 10 * quick}, "sleep")
	want(t, err, engine.Timeout, "in time")
	_, err = run(t.Context(), engine.Limits{Fuel: 50_000_000}, "loop")
	want(t, err, engine.CPU, "cpu budget spent")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = run(ctx, engine.Limits{}, "loop")
	want(t, err, engine.Cancelled, "stopped")
}

func TestAModuleWithoutStartIsNoProgram(t *testing.T) {
	var b w.Module
	b.Func("call", number, 0, w.Const32(0))
	_, err := load(t, b.Bytes(), engine.Limits{}).Run(t.Context(), engine.Command{Args: []string{"p"}})
	want(t, err, engine.MissingExport, "_start")
}
