// Package reference runs a module under the reference implementation of Extism's
// ABI, extism/go-sdk. Tests, `plugin verify` and the benchmarks compare this
// project's own loader with it. No tool call goes through it.
//
// Module bytes, configuration and host functions come in; the exit code, output and
// error text of each call go out, as the SDK gives them. A module reaches no host by
// http_request, and no file that was not mounted.
//
// It must not know the engine. It is the only importer of extism/go-sdk.
package reference

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
)

// Config says what a module is run with.
type Config struct {
	// WASM is the module; it is not kept.
	WASM []byte
	// Config is what config_get answers from.
	Config map[string]string
	// Functions are the host functions of extism:host/user.
	Functions []Function
	// Mounts are folders of this machine that WASI shows to the module, by the path
	// that it sees. The module may read and write there.
	Mounts map[string]string
	// Timeout ends each call, in steps of a millisecond; 0 for none. With one the SDK
	// compiles checks into every loop, which makes them many times slower.
	Timeout time.Duration
	// Log takes log lines from level info up, and the SDK's own; nil drops them.
	Log func(level, message string)
	// Stdout takes what the module writes to stdout; nil drops it.
	Stdout io.Writer
	// CacheDir keeps compiled code; "" compiles each time.
	CacheDir string
}

// Function is one host function. One of Blocks, Numbers and Answer is set.
type Function struct {
	Name string
	// Blocks gets the block of kernel memory that the one parameter names and gives
	// the block that the one result names.
	Blocks func(in []byte) []byte
	// Numbers gets the parameters as they are, Params of them, and gives one result.
	Numbers func(params []uint64) uint64
	Params  int
	// Answer gives the same block whatever its Params parameters are; without Result the
	// function gives nothing.
	Answer []byte
	Result bool
}

// Module is a module compiled by the SDK. It is safe for concurrent use.
type Module struct {
	compiled *extism.CompiledPlugin
	cache    wazero.CompilationCache
	log      func(level, message string)
	stdout   io.Writer
}

// The SDK's log level is one for the whole process.
var setLevel sync.Once

// Load compiles a module. The caller closes it.
func Load(ctx context.Context, config Config) (*Module, error) {
	setLevel.Do(func() { extism.SetLogLevel(extism.LogLevelInfo) })
	rt := wazero.NewRuntimeConfig()
	m := &Module{log: config.Log, stdout: config.Stdout}
	if config.CacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(config.CacheDir)
		if err != nil {
			return nil, fmt.Errorf("open the reference's cache: %w", err)
		}
		m.cache = cache
		rt = rt.WithCompilationCache(cache)
	}
	manifest := extism.Manifest{
		Wasm:    []extism.Wasm{extism.WasmData{Data: config.WASM, Name: "main"}},
		Config:  config.Config,
		Timeout: uint64(config.Timeout.Milliseconds()),
	}
	if manifest.Config == nil {
		manifest.Config = map[string]string{}
	}
	if len(config.Mounts) > 0 {
		manifest.AllowedPaths = map[string]string{}
		for guest, host := range config.Mounts {
			manifest.AllowedPaths[host] = guest
		}
	}
	functions := make([]extism.HostFunction, len(config.Functions))
	for i, f := range config.Functions {
		functions[i] = f.adapt()
	}
	var err error
	m.compiled, err = extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{
		RuntimeConfig: rt, EnableWasi: true, EnableHttpResponseHeaders: true,
	}, functions)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("compile under the reference: %w", err), m.closeCache(ctx))
	}
	return m, nil
}

// adapt makes the SDK's form of f.
func (f Function) adapt() extism.HostFunction {
	one := []extism.ValueType{extism.ValueTypePTR}
	params := make([]extism.ValueType, f.Params)
	for i := range params {
		params[i] = extism.ValueTypePTR
	}
	if f.Answer != nil {
		results := one
		if !f.Result {
			results = nil
		}
		return extism.NewHostFunctionWithStack(f.Name,
			func(_ context.Context, p *extism.CurrentPlugin, stack []uint64) {
				if !f.Result {
					return
				}
				var err error
				if stack[0], err = p.WriteBytes(f.Answer); err != nil {
					panic(err) // the SDK makes a trap of it
				}
			}, params, results)
	}
	if f.Numbers != nil {
		return extism.NewHostFunctionWithStack(f.Name,
			func(_ context.Context, _ *extism.CurrentPlugin, stack []uint64) {
				stack[0] = f.Numbers(stack[:f.Params])
			}, params, one)
	}
	return extism.NewHostFunctionWithStack(f.Name, func(_ context.Context, p *extism.CurrentPlugin, stack []uint64) {
		in, err := p.ReadBytes(stack[0])
		if err != nil {
			panic(err) // the SDK makes a trap of it
		}
		if stack[0], err = p.WriteBytes(f.Blocks(in)); err != nil {
			panic(err)
		}
	}, one, one)
}

// Close frees the module and every instance of it.
func (m *Module) Close(ctx context.Context) error {
	return errors.Join(m.compiled.Close(ctx), m.closeCache(ctx))
}

func (m *Module) closeCache(ctx context.Context) error {
	if m.cache == nil {
		return nil
	}
	return m.cache.Close(ctx)
}

// Instance is one instance: its memory, globals and variables last from call to call.
// One goroutine at a time may use it.
type Instance struct{ plugin *extism.Plugin }

// Instance makes an instance, which the first call initialises. The caller closes it.
func (m *Module) Instance(ctx context.Context) (*Instance, error) {
	config := wazero.NewModuleConfig().WithSysWalltime().WithSysNanotime().WithSysNanosleep()
	if m.stdout != nil {
		config = config.WithStdout(m.stdout)
	}
	p, err := m.compiled.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: config})
	if err != nil {
		return nil, fmt.Errorf("make an instance under the reference: %w", err)
	}
	p.SetLogger(func(level extism.LogLevel, message string) {
		if m.log != nil {
			m.log(levelName(level), message)
		}
	})
	return &Instance{p}, nil
}

func levelName(level extism.LogLevel) string {
	switch level {
	case extism.LogLevelTrace:
		return "trace"
	case extism.LogLevelDebug:
		return "debug"
	case extism.LogLevelWarn:
		return "warn"
	case extism.LogLevelError:
		return "error"
	}
	return "info"
}

// Outcome is how a call ended.
type Outcome struct {
	// Code is the exit code: the function's result, or what proc_exit was given.
	Code uint32
	// Output is a copy of the guest's output.
	Output []byte
	// Err is the guest's error text, a trap, or nil.
	Err error
	// Exited says that Err is an exit by proc_exit.
	Exited bool
}

// Call calls an export with an input.
func (i *Instance) Call(ctx context.Context, export string, input []byte) Outcome {
	code, output, err := i.plugin.CallWithContext(ctx, export, input)
	var exit interface{ ExitCode() uint32 }
	return Outcome{Code: code, Output: output, Err: err, Exited: errors.As(err, &exit)}
}

// Variable returns a variable of the instance.
func (i *Instance) Variable(name string) []byte { return i.plugin.Var[name] }

// SetVariable sets a variable of the instance.
func (i *Instance) SetVariable(name string, value []byte) { i.plugin.Var[name] = value }

// Close frees the instance.
func (i *Instance) Close(ctx context.Context) error { return i.plugin.Close(ctx) }
