package abi

import (
	"bytes"
	"context"
	"io"
	"math"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-host/bulkhead/runtime/linear"
	"github.com/bulkhead-host/bulkhead/runtime/vfs"
)

// HostFunc serves one import of extism:host/user: one block in, one block out. It
// runs on the call's goroutine, owns in, and must return when ctx is done.
type HostFunc func(ctx context.Context, in []byte) []byte

// HTTPRequest is what a guest asked Extism's http_request for.
type HTTPRequest struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"` // upper case; GET if the guest named none
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"-"` // nil without one
}

// HTTPResponse is what the guest gets. Status 0 is a denial or a failure; Body is
// then a text that the guest may read.
type HTTPResponse struct {
	Status  int
	Headers map[string]string
	Body    []byte
}

// HTTPFunc serves Extism's http_request. It must return when ctx is done.
type HTTPFunc func(ctx context.Context, req HTTPRequest) HTTPResponse

// NumbersFunc serves one import of extism:host/user that takes and gives numbers. It
// must not keep params.
type NumbersFunc func(params []uint64) uint64

// Call is what one call brings to an instance.
type Call struct {
	Input  []byte
	Config map[string]string
	// Host returns the function behind an import of extism:host/user, nil for one
	// that is not granted. A nil Host grants none.
	Host func(name string) HostFunc
	// Numbers returns the function behind an import that takes numbers and not
	// blocks. It is asked before Host; nil, and one that returns nil, mean none.
	Numbers func(name string) NumbersFunc
	// HTTP is nil where http_request is not granted.
	HTTP HTTPFunc
	// Log receives the guest's log lines, stdout (as info) and stderr (as warn). A
	// nil Log drops them. level is trace, debug, info, warn or error.
	Log func(level, message string)
	// MemoryBytes bounds linear memory and kernel memory together.
	MemoryBytes uint64
	// Mounts are the files that WASI shows, to a module that was linked with files.
	Mounts []vfs.Mount
	// Command is what a WASI program runs with, nil for other calls.
	Command *Command
}

// Command is what a WASI program sees beside its files.
type Command struct {
	// Args are the arguments, the program's name first.
	Args  []string
	Stdin []byte
	// Stdout takes its output, Stderr a copy of what also goes to the log. Stdout may
	// end the call by a panic with ErrOutput.
	Stdout, Stderr io.Writer
}

// State is what the host keeps for one instance and the call that it serves.
// It is used by one goroutine at a time: whoever is in the instance.
type State struct {
	ctx     context.Context
	call    *Call // nil while the instance is initialised ahead of any call
	request Call  // what call points to
	fuel    fuel

	mem         memory
	limit       uint64         // bytes of linear and kernel memory
	linear      *linear.Memory // nil without one
	inputOff    uint64
	inputLen    uint64
	outputOff   uint64
	outputLen   uint64
	errorOff    uint64
	vars        map[string][]byte
	varBytes    int
	words       uint32 // loads and stores of this call
	looks       uint32 // how often the call looked whether it was stopped
	watched     bool   // watch was called
	httpStatus  int32
	httpHeaders map[string]string
	errno       uint64 // of the function of WASI that runs, where wazero has none for it

	log            logSink
	stdout, stderr lineWriter
}

// NewState returns the state of an instance that is about to be made. limit bounds
// its memory in bytes until a call brings its own bound; budget is the fuel of its
// initialisation.
func NewState(ctx context.Context, limit uint64, budget int64) *State {
	s := &State{ctx: ctx, limit: limit, vars: map[string][]byte{}, fuel: fuel{budget: budget}}
	s.mem = newMemory(func() uint64 { return s.limit - min(s.limit, s.linear.Size()) })
	s.stdout = lineWriter{sink: &s.log, level: "info"}
	s.stderr = lineWriter{sink: &s.log, level: "warn", keepFirst: true}
	return s
}

type stateKey struct{}

// Context returns ctx with the state in it. Instantiation and every function call
// of the instance need it.
func (s *State) Context(ctx context.Context) context.Context {
	s.ctx, s.watched, s.looks = ctx, false, 0
	if s.call != nil && len(s.call.Mounts) > 0 {
		s.watch() // files may block
	}
	return context.WithValue(ctx, stateKey{}, s)
}

func stateOf(ctx context.Context) *State {
	s, ok := ctx.Value(stateKey{}).(*State)
	if !ok {
		// A module that was linked but is not called by the engine.
		panic(fault("The module was called without a state."))
	}
	return s
}

// Begin gives the state its call, which it copies. It returns a *Fault if what the instance already
// takes, or the input, is beyond the call's memory.
func (s *State) Begin(call *Call) error {
	s.limit = call.MemoryBytes
	s.request = *call
	s.call = &s.request
	s.log.attach(call.Log)
	if s.linear.Size() > s.limit {
		return fault("The module needs %d bytes of memory before it starts; the limit is %d.", s.linear.Size(), s.limit)
	}
	off, ok := s.mem.put(call.Input)
	if !ok {
		return fault("The input of %d bytes does not fit into the memory limit of %d bytes.", len(call.Input), s.limit)
	}
	s.inputOff, s.inputLen = off, uint64(len(call.Input))
	return nil
}

// Continue gives the state of a kept instance its next call. Variables stay; kernel
// memory, output, error text and the state of http are as in a new one.
func (s *State) Continue(ctx context.Context, call *Call) error {
	s.ctx, s.watched, s.looks = ctx, false, 0
	resetAll(s, nil)
	s.httpStatus, s.httpHeaders = 0, nil
	s.log, s.stderr.first = logSink{}, ""
	return s.Begin(call)
}

// SetVariable sets a variable as the guest's var_set does, without its bound. The state
// keeps value.
func (s *State) SetVariable(name string, value []byte) {
	if old, had := s.vars[name]; had {
		s.varBytes -= len(name) + len(old) + varCost
	}
	s.varBytes += len(name) + len(value) + varCost
	s.vars[name] = value
}

// Variable returns a copy of one of the variables, nil if there is none.
func (s *State) Variable(name string) []byte { return bytes.Clone(s.vars[name]) }

// Initial is what an instance has said during its initialisation, which each of its calls
// hears. It is not changed once it was made.
type Initial struct {
	log            logSink
	stdout, stderr lineWriter
}

// Mark returns what Reset goes back to: the instance is initialised, and no call began.
// It returns false if the guest used kernel memory, which Reset would take from it.
func (s *State) Mark() (Initial, bool) {
	return Initial{s.log.clone(), s.stdout.clone(), s.stderr.clone()}, s.call == nil && s.mem.untouched()
}

// Reset makes the state that of an instance which is initialised and has served no call.
// The instance is attached.
func (s *State) Reset(initial Initial) {
	s.mem.reset()
	s.forget()
	clear(s.vars)
	s.varBytes = 0
	s.log, s.stdout, s.stderr = initial.log.clone(), initial.stdout.clone(), initial.stderr.clone()
	s.stdout.sink, s.stderr.sink = &s.log, &s.log
	s.fuel = fuel{cell: s.fuel.cell}
	s.fuel.cell.Set(0)
}

// forget drops what belongs to a call.
func (s *State) forget() {
	s.ctx, s.call, s.request = context.Background(), nil, Call{}
	s.inputOff, s.inputLen, s.outputOff, s.outputLen, s.errorOff = 0, 0, 0, 0, 0
	s.words, s.looks, s.watched, s.httpStatus, s.httpHeaders = 0, 0, false, 0, nil
}

// Hear hands out what the guest said in an initialisation that failed ahead of its call.
func (s *State) Hear(log func(level, message string)) { s.log.attach(log) }

// Finish hands out what the guest wrote to stdout and stderr without a line end.
func (s *State) Finish() {
	s.stdout.flush()
	s.stderr.flush()
}

// OutputBytes returns the length of the output.
func (s *State) OutputBytes() uint64 { return s.outputLen }

// Output returns a copy of the output, nil if there is none.
func (s *State) Output() []byte {
	view, _ := s.mem.view(s.outputOff, s.outputLen)
	return bytes.Clone(view)
}

// maxErrorBytes is how much of an error text is read: far more than anybody is shown.
const maxErrorBytes = 64 << 10

// ErrorText returns what the guest set by error_set, "" if nothing, at most 64 KiB of it.
// Bytes that are not UTF-8 are replaced.
func (s *State) ErrorText() string {
	if s.errorOff == 0 {
		return ""
	}
	text, _ := s.mem.view(s.errorOff, min(s.mem.length(s.errorOff), maxErrorBytes))
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// StderrLine returns the first line that the guest wrote to stderr: of a panic in
// the guest that is its message.
func (s *State) StderrLine() string { return s.stderr.first }

// MemoryBytes returns the linear and kernel memory that the instance takes. Both
// never shrink, so after a call it is the peak.
func (s *State) MemoryBytes() int64 { return int64(s.linear.Size() + s.mem.size()) }

// KernelBytes returns the kernel memory that the instance takes.
func (s *State) KernelBytes() int64 { return int64(s.mem.size()) }

// needCall returns the call, and ends an initialisation that runs ahead of it.
func (s *State) needCall() *Call {
	if s.call == nil {
		panic(ErrNeedsCall)
	}
	return s.call
}

// sleep is the guest's sleep. It ends with the call.
func (s *State) sleep(ns int64) {
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
	s.checkStopped()
}

// guarded wraps a host function that may call foreign code or block: a panic in it
// becomes a HostPanic, and a call that was stopped meanwhile ends here.
func guarded(name string, f func(s *State, ctx context.Context, stack []uint64)) api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		s := stateOf(ctx)
		defer func() {
			switch v := recover().(type) {
			case nil:
			case *Fault:
				panic(v)
			case error:
				if v == ErrNeedsCall || v == errInterrupted {
					panic(v)
				}
				panic(&HostPanic{Function: name, Value: v, Stack: debug.Stack()})
			default:
				panic(&HostPanic{Function: name, Value: v, Stack: debug.Stack()})
			}
		}()
		s.watch()
		s.checkStopped()
		f(s, ctx, stack)
		s.checkStopped()
	}
}

// checkStopped ends a call that was stopped. Every host function comes by here: it is
// the only place but refill where a guest can be ended.
func (s *State) checkStopped() {
	if s.looks++; s.looks == looksUnwatched {
		s.watch()
	}
	if s.ctx.Err() != nil {
		panic(errInterrupted)
	}
}

const (
	// looksUnwatched is how often a call that is not watched looks whether it was stopped.
	looksUnwatched = 32
	// bytesUnwatched is how many bytes a host function moves in a call that is not watched:
	// some ten microseconds of copying.
	bytesUnwatched = 64 << 10
)

// watch asks for the end of the call to be noticed from now on. A context may need a timer
// for that, which costs more than all else the host does in a small call; so it is asked
// for in calls that go on for longer than a slice of fuel or some host functions, and in
// those that may block or move many bytes.
func (s *State) watch() {
	if !s.watched {
		s.watched = true
		s.ctx.Done()
	}
}

// watchBytes is watch in a call that moves n bytes.
func (s *State) watchBytes(n uint64) {
	if n > bytesUnwatched {
		s.watch()
	}
}

// kernelFloor is the smallest size that Extism's kernel memory has.
const kernelFloor = 64 << 10

// text returns a copy of the block at off, empty if there is none. An offset outside of
// memory ends the call, as in go-sdk.
func (s *State) text(function string, off uint64) []byte {
	return bytes.Clone(s.head(function, off, math.MaxInt))
}

// head returns the beginning of the block at off, of at most n bytes, as text does. It is no
// copy, and good until the next block is made.
func (s *State) head(function string, off uint64, n int) []byte {
	if off > max(uint64(len(s.mem.data)), kernelFloor) {
		panic(fault("The guest gave %s the offset %d, which is outside of the call's memory.", function, off))
	}
	view, _ := s.mem.view(off, min(s.mem.length(off), uint64(n)))
	return view
}

// answer puts data into a new block and returns its offset.
func (s *State) answer(function string, data []byte) uint64 {
	off, ok := s.mem.put(data)
	if !ok {
		panic(fault("The answer of %s (%d bytes) does not fit into the memory limit of %d bytes.", function, len(data),
			s.limit))
	}
	return off
}
