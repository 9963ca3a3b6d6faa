package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
	"github.com/bulkhead-host/bulkhead/runtime/meter"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// compileTimeout is how long a load waits for the compiler, which itself cannot be
// stopped.
const compileTimeout = 2 * time.Minute

// Load checks and compiles a module. It keeps no reference to wasm. A module that
// is refused gives a *LoadError. When ctx is done Load returns at once; a compiler
// that runs then ends on its own, and Close waits for it.
func (e *Engine) Load(ctx context.Context, wasm []byte, limits Limits) (*Module, error) {
	end, err := e.begin()
	if err != nil {
		return nil, err
	}
	m, hardened, err := e.check(wasm, limits)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		end()
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, compileTimeout)
	compiled := make(chan error)
	go func() {
		defer end()
		defer cancel()
		err := e.compile(ctx, m, hardened)
		if err == nil && !e.add(m) {
			err = errors.Join(ErrClosed, m.release(context.WithoutCancel(ctx)))
		}
		select {
		case compiled <- err:
		case <-ctx.Done():
			if err == nil {
				m.abandon()
			}
		}
	}()
	select {
	case err := <-compiled:
		if err != nil {
			return nil, err
		}
		m.startKeeper()
		return m, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("compile a module: %w", ctx.Err())
	}
}

// check reads the module and returns it, not yet compiled, and the bytes for the
// compiler.
func (e *Engine) check(wasm []byte, limits Limits) (*Module, []byte, error) {
	structure := wasmbin.DefaultLimits()
	info, err := wasmbin.Read(wasm, structure)
	if err != nil {
		return nil, nil, refusal(err)
	}
	limits = limits.or(DefaultLimits())
	limits.Files = limits.Files || protocolOf(info) == WASICommand
	if err := fits(info, limits); err != nil {
		return nil, nil, err
	}
	rewritten, err := rewrite(wasm, info, structure)
	if err != nil {
		return nil, nil, refusal(err)
	}
	sum := sha256.Sum256(wasm)
	m := newModule(e, info, limits, hex.EncodeToString(sum[:]))
	m.resettable.Store(resettable(info, limits))
	return m, rewritten, nil
}

// rewrite validates a module and returns the bytes for the compiler: with fuel, and
// hardened.
func rewrite(wasm []byte, info *wasmbin.Module, structure wasmbin.Limits) ([]byte, error) {
	metered, err := meter.Instrument(wasm, info, meter.Options{Globals: settable(info)})
	if err != nil {
		return nil, err
	}
	structure = structure.Rewritten()
	info, err = wasmbin.Read(metered, structure)
	if err != nil {
		return nil, err
	}
	return wasmbin.Harden(metered, info, structure), nil
}

// fits checks what a module needs before it starts.
func fits(info *wasmbin.Module, limits Limits) error {
	if info.Memory == nil || uint64(info.Memory.Min)*pageBytes <= limits.memoryBytes() {
		return nil
	}
	return &LoadError{Kind: TooLarge, Message: fmt.Sprintf(
		"The module needs %d KiB of memory to start; its limit is %d MiB. Raise the limit (memory_mib) or build it with a smaller initial memory.",
		uint64(info.Memory.Min)*pageBytes>>10, limits.MemoryMiB)}
}

// pageBytes is the size of a page of linear memory.
const pageBytes = 64 << 10

// compile compiles the hardened bytes for m. Code from the cache that turns out to
// be damaged is deleted and compiled once more. A cache that cannot be used, as on a full
// disk, costs time and keeps no module from running.
func (e *Engine) compile(ctx context.Context, m *Module, hardened []byte) error {
	select {
	case e.compiling <- struct{}{}:
		defer func() { <-e.compiling }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.cache == nil {
		_, err := e.compileOnce(ctx, m, hardened, "")
		return err
	}
	folder := e.cache.folder(hardened)
	cached, err := e.compileOnce(ctx, m, hardened, folder)
	if err != nil && cached && ctx.Err() == nil {
		_, err = e.compileOnce(ctx, m, hardened, folder)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	if _, again := e.compileOnce(ctx, m, hardened, ""); again != nil {
		return again
	}
	e.config.Logger.Warn("compiled code cannot be kept", "module", m.sha256, "error", err)
	return nil
}

// compileOnce sets m's runtime and code. folder is the module's in the cache, "" to keep
// its code in memory only; cached says whether code was there to be used. After an error
// the folder is gone.
func (e *Engine) compileOnce(ctx context.Context, m *Module, hardened []byte, folder string) (cached bool, err error) {
	config := runtimeConfig()
	if folder != "" {
		if m.cache, cached, err = e.cache.open(folder); err != nil {
			return false, fmt.Errorf("open the module's cache of compiled code: %w", err)
		}
		config = config.WithCompilationCache(m.cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if err != nil {
			// The first error says what happened; closing frees memory only.
			_ = m.release(context.WithoutCancel(ctx))
			if folder != "" {
				err = errors.Join(err, os.RemoveAll(folder))
			}
		}
	}()
	err = abi.Link(ctx, m.runtime, m.info.Imports, abi.Options{Files: m.limits.Files})
	if err == nil {
		err = abi.LinkMeter(ctx, m.runtime)
	}
	if err != nil {
		return cached, refusal(err)
	}
	if m.compiled, err = e.compileGuarded(ctx, m.runtime, hardened); err != nil {
		return cached, err
	}
	if folder != "" && !cached {
		if err := e.cache.seal(folder); err != nil {
			return cached, fmt.Errorf("seal the module's cache of compiled code: %w", err)
		}
	}
	return cached, nil
}

// compileGuarded runs the compiler. A panic in it is a fault of the compiler, not
// of the host.
func (e *Engine) compileGuarded(ctx context.Context, rt wazero.Runtime, hardened []byte) (compiled wazero.CompiledModule, err error) {
	defer func() {
		if v := recover(); v != nil {
			e.config.Logger.Error("the compiler failed on a module", "panic", v, "stack", string(debug.Stack()))
			err = &LoadError{Kind: CompilerFault, Message: "The compiler failed on this module. Build it with another optimisation level."}
		}
	}()
	compiled, err = rt.CompileModule(ctx, hardened)
	if err == nil {
		return compiled, nil
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	return nil, &LoadError{Kind: Invalid, Message: fmt.Sprintf(
		"The module is not valid WebAssembly 2.0, or uses a proposal beyond it (threads, exceptions, tail calls): %s.", shorten(reason, 300))}
}
