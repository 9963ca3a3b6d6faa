package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// systemCalls are all functions of WASI that a module can import, with their types.
func systemCalls(t *testing.T) map[string]api.FunctionDefinition {
	t.Helper()
	rt := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(t.Context())
	compiled, err := wasi_snapshot_preview1.NewBuilder(rt).Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return compiled.ExportedFunctions()
}

func valueTypes(list []api.ValueType) w.Types {
	var out w.Types
	for _, v := range list {
		out = append(out, wasmbin.ValueType(v))
	}
	return out
}

// TestAnyArgumentOfASystemCallIsSafe calls every function of WASI with arguments that point
// anywhere: each call ends by itself or with a typed
// error, and the next call is served as if nothing had been.
func TestAnyArgumentOfASystemCallIsSafe(t *testing.T) {
	arguments := []int64{0, 1, 2, 3, 7, 100, 65528, 65535, 65536, 1 << 20, 1<<31 - 1, -1, -8}
	for name, f := range systemCalls(t) {
		t.Run(name, func(t *testing.T) {
			var b w.Module
			fn := b.Import(wasi, name, valueTypes(f.ParamTypes()), valueTypes(f.ResultTypes()))
			b.Memory(1)
			b.Func("good", number, 0, w.Const32(0))
			for n, first := range arguments {
				for _, rest := range arguments {
					var body [][]byte
					for p, v := range f.ParamTypes() {
						value := rest
						if p == 0 {
							value = first
						}
						if v == api.ValueTypeI64 {
							body = append(body, w.Const64(value))
						} else {
							body = append(body, w.Const32(int32(value)))
						}
					}
					body = append(body, w.Call(fn))
					if len(f.ResultTypes()) > 0 {
						body = append(body, w.Drop)
					}
					b.Func(fmt.Sprintf("call %d %d", n, rest), number, 0, append(body, w.Const32(0))...)
				}
			}
			m := load(t, b.Bytes(), engine.Limits{MemoryMiB: 1})
			for _, export := range m.Exports() {
				out, err := m.Call(t.Context(), engine.Call{Export: export,
					Limits: engine.Limits{Timeout: time.Minute}})
				var failed *engine.CallError
				switch {
				case err == nil:
				case !errors.As(err, &failed):
					t.Errorf("%s: untyped error %v", export, err)
				case failed.Kind == engine.Trap, failed.Kind == engine.Exit:
				default:
					t.Errorf("%s: %s %v", export, failed.Kind, err)
				}
				if err != nil && strings.Contains(err.Error(), ".go:") {
					t.Errorf("%s: the message has a Go stack: %v", export, err)
				}
				if out.MemoryBytes > 1<<20 {
					t.Errorf("%s: memory = %d", export, out.MemoryBytes)
				}
			}
			if _, err := m.Call(t.Context(), engine.Call{Export: "good"}); err != nil {
				t.Errorf("after all: %v", err)
			}
		})
	}
}

// TestEndlessOutputEndsAndIsCut has guests that write to stdout, stderr and the log until
// their time is over: what comes out is bounded.
func TestEndlessOutputEndsAndIsCut(t *testing.T) {
	var stdout, stderr, log w.Module
	four := w.Types{w.I32, w.I32, w.I32, w.I32}
	for fd, b := range map[int32]*w.Module{1: &stdout, 2: &stderr} {
		fdWrite := b.Import(wasi, "fd_write", four, number)
		b.Memory(1)
		b.Data(0, []byte{16, 0, 0, 0, 100, 0, 0, 0})
		b.Data(16, append([]byte(strings.Repeat("x", 99)), '\n'))
		b.Func("call", number, 0, w.Loop, w.Const32(fd), w.Const32(0), w.Const32(1), w.Const32(8), w.Call(fdWrite),
			w.Drop, w.Again, w.End, w.Const32(0))
	}
	alloc := log.Import(env, "alloc", one, one)
	info := log.Import(env, "log_info", one, nil)
	log.Func("call", number, 0, w.Loop, w.Const64(1000), w.Call(alloc), w.Call(info), w.Again, w.End, w.Const32(0))
	for name, b := range map[string]*w.Module{"stdout": &stdout, "stderr": &stderr, "log": &log} {
		t.Run(name, func(t *testing.T) {
			m := load(t, b.Bytes(), engine.Limits{Fuel: 5_000_000})
			lines, bytes, last := 0, 0, ""
			_, err := m.Call(t.Context(), engine.Call{Export: "call", Log: func(_, message string) {
				lines++
				bytes += len(message)
				last = message
			}})
			want(t, err, engine.CPU, "cpu budget")
			if bytes > 2<<20 || lines == 0 || !strings.Contains(last, "the rest is dropped") {
				t.Errorf("%d lines of %d bytes, the last %q", lines, bytes, last)
			}
		})
	}
}

// TestTextThatIsNoTextComesOutAsText gives the host bytes that are not UTF-8 wherever it
// takes text from a guest.
func TestTextThatIsNoTextComesOutAsText(t *testing.T) {
	var b w.Module
	alloc := b.Import(env, "alloc", one, one)
	store := b.Import(env, "store_u64", two, nil)
	takes := []string{"log_error", "config_get", "var_get", "error_set"}
	var functions []uint32
	for _, name := range takes {
		results := w.Types(nil)
		if strings.HasSuffix(name, "_get") {
			results = one
		}
		functions = append(functions, b.Import(env, name, one, results))
	}
	ask := b.Import(user, "ask", one, one)
	pair := b.Import(user, "pair", two, nil)
	fdWrite := b.Import(wasi, "fd_write", w.Types{w.I32, w.I32, w.I32, w.I32}, number)
	b.Memory(1)
	b.Data(0, []byte{16, 0, 0, 0, 5, 0, 0, 0})
	b.Data(16, []byte{0xff, 'a', 0xc3, 0x28, '\n'})
	block := slices.Concat(w.Const64(8), w.Call(alloc), w.Set(0), w.Get(0), w.Const64(-0x3cd73d9d3cd73d9e),
		w.Call(store), w.Get(0))
	body := [][]byte{
		block, w.Call(functions[0]), block, w.Call(functions[1]), w.Drop, block, w.Call(functions[2]), w.Drop,
		block, w.Call(ask), w.Drop, block, block, w.Call(pair),
		w.Const32(2), w.Const32(0), w.Const32(1), w.Const32(8), w.Call(fdWrite), w.Drop,
		block, w.Call(functions[3]), w.Const32(1),
	}
	b.Func("call", number, 1, body...)
	m := load(t, b.Bytes(), engine.Limits{})
	_, err := m.Call(t.Context(), engine.Call{
		Export: "call",
		Log: func(_, message string) {
			if !utf8.ValidString(message) {
				t.Errorf("a log line is not UTF-8: %q", message)
			}
		},
		Host: func(name string) engine.HostFunc {
			return func(_ context.Context, in []byte) []byte {
				if name == "pair" && !utf8.Valid(in) {
					t.Errorf("the JSON of several blocks is not UTF-8: %q", in)
				}
				return []byte{0xff, 0xfe}
			}
		},
	})
	want(t, err, engine.GuestError, "\uFFFD")
	if !utf8.ValidString(err.Error()) {
		t.Errorf("the error is not UTF-8: %q", err)
	}
}

// TestThousandsOfFunctionsLoadOrAreRefused has modules that are many small things.
func TestThousandsOfFunctionsLoadOrAreRefused(t *testing.T) {
	functions := func(n int) []byte {
		var b w.Module
		for range n {
			b.Func("", number, 0, w.Const32(0))
		}
		b.Func("call", number, 0, w.Const32(0))
		return b.Bytes()
	}
	globals := func(n int) []byte {
		var b w.Module
		content := wasmbin.AppendU32(nil, uint32(n))
		for range n {
			content = append(content, 0x7f, 1, 0x41, 0, 0x0b)
		}
		b.Section(wasmbin.SectionGlobal, content)
		b.Func("call", number, 0, []byte{0x23, 0, 0x41, 1, 0x6a, 0x24, 0, 0x23, 0, 0x41, 1,
			0x6b}) // g0 + 1, back less 1
		return b.Bytes()
	}
	locals := func(n uint32) []byte {
		var b w.Module
		index := b.Function(nil, nil, append(wasmbin.AppendU32([]byte{1}, n), 0x7f, 0x0b))
		b.Export("call", wasmbin.ExternFunc, index)
		return b.Bytes()
	}
	var data, custom w.Module
	data.Memory(1)
	data.Data(65530, make([]byte, 100))
	data.Func("call", number, 0, w.Const32(0))
	for n := range 2000 {
		custom.Custom(fmt.Sprint("section ", n), []byte("x"))
	}
	custom.Func("call", number, 0, w.Const32(0))
	cases := map[string]struct {
		wasm []byte
		// refused is the kind of the LoadError, "" for a module that loads.
		refused engine.LoadKind
		// fails is the kind of the CallError, "" for none.
		fails engine.CallKind
	}{
		"5,000 functions":          {functions(5_000), "", ""},
		"300,000 functions":        {functions(300_000), engine.TooLarge, ""},
		"4,000 mutable globals":    {globals(4_000), "", ""},
		"10,000 mutable globals":   {globals(10_000), "", ""},
		"30,000 globals":           {globals(30_000), engine.TooLarge, ""},
		"2³²−1 locals":             {locals(1<<32 - 1), engine.TooLarge, ""},
		"data outside of memory":   {data.Bytes(), "", engine.Trap},
		"2,000 custom sections":    {custom.Bytes(), engine.TooLarge, ""},
		"an import that is absent": {nil, engine.Unsupported, ""},
	}
	var absent w.Module
	absent.Import(env, "no_such_function", nil, nil)
	absent.Func("call", number, 0, w.Const32(0))
	entry := cases["an import that is absent"]
	entry.wasm = absent.Bytes()
	cases["an import that is absent"] = entry
	e := newEngine(t, engine.Config{})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m, err := e.Load(t.Context(), c.wasm, engine.Limits{})
			var refused *engine.LoadError
			if c.refused != "" {
				if !errors.As(err, &refused) || refused.Kind != c.refused {
					t.Errorf("err = %v; want %s", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				_, err := m.Call(t.Context(), engine.Call{Export: "call"})
				var failed *engine.CallError
				if c.fails == "" && err != nil || c.fails != "" &&
					(!errors.As(err, &failed) || failed.Kind != c.fails) {
					t.Errorf("err = %v; want %q", err, c.fails)
				}
			}
		})
	}
}
