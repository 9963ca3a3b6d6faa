package abi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

func linkWASI(ctx context.Context, rt wazero.Runtime, imports []wasmbin.Import, options Options) error {
	var ours []function
	if !options.Files {
		ours = stillFunctions()
	}
	compiled, err := compileWASI(ctx, rt, ours)
	if err != nil {
		return err
	}
	known := compiled.ExportedFunctions()
	for _, im := range imports {
		f, ok := known[im.Name]
		if !ok {
			return refuse(im, "WASI preview 1 has no such function; build it for wasm32-wasip1.")
		}
		if !sameType(im.Type, f.ParamTypes(), f.ResultTypes()) {
			return refuseType(im, funcType(f.ParamTypes(), f.ResultTypes()).String())
		}
	}
	if options.Files {
		// Only what is compiled hands out wazero's functions.
		if compiled, err = compileWASI(ctx, rt, exactFunctions(known)); err != nil {
			return err
		}
	}
	if _, err := rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig()); err != nil {
		return fmt.Errorf("link %s: %w", ModuleWASI, err)
	}
	return nil
}

// compileWASI compiles wazero's functions of WASI with ours in the place of those of the same
// names.
func compileWASI(ctx context.Context, rt wazero.Runtime, ours []function) (wazero.CompiledModule, error) {
	builder := rt.NewHostModuleBuilder(ModuleWASI)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(builder)
	for _, f := range ours {
		builder.NewFunctionBuilder().WithGoModuleFunction(f.call, f.params, f.results).Export(f.name)
	}
	compiled, err := builder.Compile(ctx)
	if err != nil {
		return nil, fmt.Errorf("link %s: %w", ModuleWASI, err)
	}
	return compiled, nil
}

// World is what a guest can learn of the world outside of its call.
type World struct {
	// Now is the clock: the wall clock, and the monotonic one as the time since Start.
	Now   func() time.Time
	Start time.Time
	// Random is what random_get answers from.
	Random io.Reader
}

// clockResolution is the step of the guest's clocks that it is told.
const clockResolution = sys.ClockResolution(time.Microsecond)

// ModuleConfig returns what WASI shows to the instance: no environment and no sockets;
// no arguments, files or stdin but what the call brings; stdout and stderr to the call's
// log, or where a command's go; the clocks and the random bytes of the world; a sleep that
// ends with the call.
func (s *State) ModuleConfig(world World) wazero.ModuleConfig {
	config := s.machineConfig(world)
	if s.call == nil {
		return config
	}
	config = s.mountFiles(config, s.call.Mounts)
	if c := s.call.Command; c != nil {
		config = config.WithArgs(c.Args...).
			WithStdin(stopping{s, bytes.NewReader(c.Stdin), nil}).
			WithStdout(stopping{s, nil, c.Stdout}).
			WithStderr(stopping{s, nil, io.MultiWriter(c.Stderr, &s.stderr)})
	}
	return config
}

func (s *State) machineConfig(world World) wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithName("").
		WithStartFunctions().
		WithStdout(stopping{s, nil, &s.stdout}).
		WithStderr(stopping{s, nil, &s.stderr}).
		WithWalltime(func() (int64, int32) {
			t := world.Now()
			return t.Unix(), int32(t.Nanosecond())
		}, clockResolution).
		// Go's runtime takes 0 for a clock that is broken.
		WithNanotime(func() int64 { return int64(world.Now().Sub(world.Start)) + 1 }, clockResolution).
		WithNanosleep(s.sleep).
		WithOsyield(runtime.Gosched).
		WithRandSource(stopping{s, world.Random, nil})
}

// pieceBytes is how much of a stream goes by without a look. Sixty-four thousand empty lines
// take a millisecond.
const pieceBytes = 64 << 10

// stopping is a stream that ends a call that was stopped: a guest may read or write as
// much as it has memory, at a few instructions each time. It looks before each piece.
type stopping struct {
	state *State
	r     io.Reader
	w     io.Writer
}

// Read implements io.Reader.
func (s stopping) Read(p []byte) (int, error) {
	s.state.watchBytes(uint64(len(p)))
	s.state.checkStopped()
	return s.r.Read(p[:min(len(p), pieceBytes)])
}

// Write implements io.Writer.
func (s stopping) Write(p []byte) (int, error) {
	s.state.watch()
	written := 0
	for {
		s.state.checkStopped()
		n, err := s.w.Write(p[written:min(len(p), written+pieceBytes)])
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}
