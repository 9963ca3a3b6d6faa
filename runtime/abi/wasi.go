package abi

import (
	"io"
	"runtime"

	"github.com/tetratelabs/wazero"
)

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
