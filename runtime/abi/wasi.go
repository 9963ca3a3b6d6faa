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
		WithStdout(&s.stdout).
		WithStderr(&s.stderr).
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(s.sleep).
		WithOsyield(runtime.Gosched).
		WithRandSource(random)
}
