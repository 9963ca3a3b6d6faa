package abi

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

func linkWASI(ctx context.Context, rt wazero.Runtime, imports []wasmbin.Import, options Options) error {
	builder := rt.NewHostModuleBuilder(ModuleWASI)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(builder)
	if !options.Files {
		for _, f := range stillFunctions() {
			builder.NewFunctionBuilder().WithGoModuleFunction(f.call, f.params, f.results).Export(f.name)
		}
	}
	compiled, err := builder.Compile(ctx)
	if err != nil {
		return fmt.Errorf("link %s: %w", ModuleWASI, err)
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
	if _, err := rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig()); err != nil {
		return fmt.Errorf("link %s: %w", ModuleWASI, err)
	}
	return nil
}

// ModuleConfig returns what WASI shows to the instance: no arguments, environment,
// files or sockets; an empty stdin; stdout and stderr to the call's log; the real
// clocks; random as the source of random_get; a sleep that ends with the call.
func (s *State) ModuleConfig(random io.Reader) wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithName("").
		WithStartFunctions().
		WithStdout(stopping{s, nil, &s.stdout}).
		WithStderr(stopping{s, nil, &s.stderr}).
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(s.sleep).
		WithOsyield(runtime.Gosched).
		WithRandSource(stopping{s, random, nil})
}

// stopping is a stream that ends a call that was stopped: a guest may read or write as
// much as it has memory, at a few instructions each time.
type stopping struct {
	state *State
	r     io.Reader
	w     io.Writer
}

// Read implements io.Reader.
func (s stopping) Read(p []byte) (int, error) {
	s.state.checkStopped()
	return s.r.Read(p)
}

// Write implements io.Writer.
func (s stopping) Write(p []byte) (int, error) {
	s.state.checkStopped()
	return s.w.Write(p)
}
