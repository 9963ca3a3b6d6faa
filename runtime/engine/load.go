package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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

// Load checks and compiles a module, or takes from the cache what was made of it before.
// It keeps no reference to wasm. A module that is refused gives a *LoadError. When ctx is
// done Load returns at once; a compiler that runs then ends on its own, and Close waits for
// it.
func (e *Engine) Load(ctx context.Context, wasm []byte, limits Limits) (*Module, error) {
	key, err := keyOf(wasm)
	if err != nil {
		return nil, refusal(err)
	}
	var hash string
	if e.cache != nil {
		hashed := make(chan string, 1)
		go func() { hashed <- hashOf(wasm) }()
		folder, kept, ok := e.cache.find(key)
		if hash = <-hashed; ok {
			m, err := e.load(ctx, hash, limits, work{entry: kept, key: key, folder: folder})
			if err == nil || ctx.Err() != nil || !errors.Is(err, errStale) {
				return m, err
			}
			e.cache.remove(folder)
		}
	}
	made, err := makeEntry(wasm)
	if err != nil {
		return nil, err
	}
	if hash == "" {
		hash = hashOf(wasm)
	}
	return e.load(ctx, hash, limits, work{entry: made, key: key})
}

func hashOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// work is what is to be compiled.
type work struct {
	*entry
	key key
	// folder is where the cache has the compiled code, "" if it has none.
	folder string
}

// load makes a module of an entry. An error that is errStale says that what the cache has
// cannot be used.
func (e *Engine) load(ctx context.Context, hash string, limits Limits, work work) (*Module, error) {
	end, err := e.begin()
	if err != nil {
		return nil, err
	}
	m, err := e.prepareModule(work.summary, limits, hash)
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
		err := e.compile(ctx, m, work)
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

// makeEntry checks and rewrites a module. A refusal is a *LoadError.
func makeEntry(wasm []byte) (*entry, error) {
	structure := wasmbin.DefaultLimits()
	info, err := wasmbin.Read(wasm, structure)
	if err != nil {
		return nil, refusal(err)
	}
	hardened, err := rewrite(wasm, info, structure)
	if err != nil {
		return nil, refusal(err)
	}
	return &entry{summarize(info), hardened}, nil
}

// prepareModule returns the module that an entry is of, not yet compiled.
func (e *Engine) prepareModule(s *summary, limits Limits, hash string) (*Module, error) {
	limits = limits.or(DefaultLimits())
	limits.Files = limits.Files || s.protocol() == WASICommand
	if err := fits(s, limits); err != nil {
		return nil, err
	}
	m := newModule(e, s, limits, hash)
	m.resettable.Store(resettable(s, limits))
	return m, nil
}

// rewrite validates a module and returns the bytes for the compiler: with fuel, and
// hardened.
func rewrite(wasm []byte, info *wasmbin.Module, structure wasmbin.Limits) ([]byte, error) {
	metered, err := meter.Instrument(wasm, info, meter.Options{Globals: settable(info.Globals)})
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
func fits(info *summary, limits Limits) error {
	if info.Memory == nil || uint64(info.Memory.Min)*pageBytes <= limits.memoryBytes() {
		return nil
	}
	return &LoadError{Kind: TooLarge, Message: fmt.Sprintf(
		"The module needs %d KiB of memory to start; its limit is %d MiB. Raise the limit (memory_mib) or build it "+
			"with a smaller initial memory.",
		uint64(info.Memory.Min)*pageBytes>>10, limits.MemoryMiB)}
}

// pageBytes is the size of a page of linear memory.
const pageBytes = 64 << 10

// errStale is returned when the compiler does not take what the cache has.
var errStale = errors.New("what the cache has of the module cannot be used")

// compile compiles the hardened bytes for m, or takes the code that the cache has of them. A
// cache that cannot be written, as on a full disk, costs time and keeps no module from
// running.
func (e *Engine) compile(ctx context.Context, m *Module, work work) error {
	select {
	case e.compiling <- struct{}{}:
		defer func() { <-e.compiling }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.cache == nil {
		return e.compileOnce(ctx, m, work.hardened, "")
	}
	if work.folder != "" {
		if err := e.compileKept(ctx, m, work); err != nil {
			return fmt.Errorf("%w: %w", errStale, err)
		}
		return nil
	}
	folder, err := e.cache.begin()
	if err == nil {
		if err = e.compileOnce(ctx, m, work.hardened, folder); err != nil {
			e.cache.remove(folder)
			// What the compiler refuses may be the folder: it says so in the same way.
			var refused *LoadError
			if errors.As(err, &refused) && refused.Kind != Invalid || ctx.Err() != nil {
				return err
			}
		}
	}
	if err != nil {
		if again := e.compileOnce(ctx, m, work.hardened, ""); again != nil {
			return again
		}
	} else if err = e.cache.finish(folder, work.key, e.lighter(ctx, folder, m, work.entry)); err != nil {
		e.cache.remove(folder)
	}
	if err != nil {
		e.config.Logger.Warn("compiled code cannot be kept", "module", m.sha256, "error", err)
	}
	return nil
}

// compileKept takes the code of m that the cache has.
func (e *Engine) compileKept(ctx context.Context, m *Module, work work) error {
	if work.summary.Code == "" {
		return e.compileOnce(ctx, m, work.hardened, work.folder)
	}
	file, err := watch(work.folder, work.summary.Code)
	if err != nil {
		return err
	}
	if err := e.compileOnce(ctx, m, work.hardened, work.folder); err != nil {
		return err
	}
	if err := file.taken(); err != nil {
		return errors.Join(err, m.release(context.WithoutCancel(ctx)))
	}
	return nil
}

// lighter returns the entry to keep beside the code in a folder: a hollow one, or the full
// one where the compiler does not allow that.
func (e *Engine) lighter(ctx context.Context, folder string, m *Module, full *entry) *entry {
	light, err := e.hollow(ctx, folder, full)
	if err != nil {
		e.config.Logger.Debug("a module is kept with its code", "module", m.sha256, "error", err)
		return full
	}
	return light
}

// compileOnce sets m's runtime and code. folder is where compiled code is read from, or
// written to if it is not there; "" keeps it in memory only.
func (e *Engine) compileOnce(ctx context.Context, m *Module, hardened []byte, folder string) (err error) {
	config := runtimeConfig()
	if folder != "" {
		if m.cache, err = e.cache.code(folder); err != nil {
			return fmt.Errorf("open the module's cache of compiled code: %w", err)
		}
		config = config.WithCompilationCache(m.cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if err != nil {
			// The first error says what happened; closing frees memory only.
			_ = m.release(context.WithoutCancel(ctx))
		}
	}()
	err = abi.Link(ctx, m.runtime, m.info.Imports, abi.Options{Files: m.limits.Files})
	if err == nil {
		err = abi.LinkMeter(ctx, m.runtime)
	}
	if err != nil {
		return refusal(err)
	}
	m.compiled, err = e.compileGuarded(ctx, m.runtime, hardened)
	return err
}

// compileGuarded runs the compiler. A panic in it is a fault of the compiler, not
// of the host.
func (e *Engine) compileGuarded(
	ctx context.Context, rt wazero.Runtime, hardened []byte,
) (compiled wazero.CompiledModule, err error) {
	defer func() {
		if v := recover(); v != nil {
			e.config.Logger.Error("the compiler failed on a module", "panic", v, "stack", string(debug.Stack()))
			err = &LoadError{Kind: CompilerFault, Message: "The compiler failed on this module. Build it with " +
				"another optimisation level."}
		}
	}()
	compiled, err = rt.CompileModule(ctx, hardened)
	if err == nil {
		return compiled, nil
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	return nil, &LoadError{Kind: Invalid, Message: fmt.Sprintf(
		"The module is not valid WebAssembly 2.0, or uses a proposal beyond it (threads, exceptions, tail calls): %s.",
		shorten(reason, 300))}
}
