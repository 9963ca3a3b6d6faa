package abi

import (
	"context"
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"
)

// maxVarBytes is what a call's variables may take, names and entries included.
// It is Extism's default.
const maxVarBytes = 1 << 20

// varCost is what a variable costs beside its bytes.
const varCost = 40

// logLevelInfo is the level that a guest is told: what is below need not be said.
const logLevelInfo = 2

// envFunctions are the functions of extism:host/env.
func envFunctions() []function {
	one, two := []api.ValueType{i64}, []api.ValueType{i64, i64}
	number := []api.ValueType{i32}
	set := append(memoryFunctions(), []function{
		{"config_get", one, one, guarded("config_get", configGet)},
		{"var_get", one, one, guarded("var_get", varGet)},
		{"var_set", two, nil, guarded("var_set", varSet)},
		{"http_request", two, one, guarded("http_request", httpRequest)},
		{"http_status_code", nil, number, plain(func(s *State,
			stack []uint64) {
			stack[0] = api.EncodeI32(s.httpStatus)
		})},
		{"http_headers", nil, one, guarded("http_headers", httpHeaders)},
		{"get_log_level", nil, number, plain(func(_ *State, stack []uint64) { stack[0] = logLevelInfo })},
	}...)
	for _, level := range []string{"trace", "debug", "info", "warn", "error"} {
		name := "log_" + level
		set = append(set, function{name, one, nil, guarded(name, func(s *State, _ context.Context, stack []uint64) {
			s.log.write(level, s.head(name, stack[0], maxLineBytes))
			s.free(stack[0])
		})})
	}
	return set
}

// plain wraps a host function that neither blocks nor calls foreign code.
func plain(f func(s *State, stack []uint64)) api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		s := stateOf(ctx)
		s.checkStopped()
		f(s, stack)
	}
}

// wordsBetweenLooks is after how many loads and stores a call looks whether it was stopped.
// A guest makes them by the hundred thousand, and a look takes a fifth of one; so many of
// them take some ten microseconds.
const wordsBetweenLooks = 64

// word wraps a host function that reads or writes a few bytes.
func word(f func(s *State, stack []uint64)) api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		s := stateOf(ctx)
		if s.words++; s.words%wordsBetweenLooks == 0 {
			s.checkStopped()
		}
		f(s, stack)
	}
}

// memoryFunctions are the functions of Extism's kernel.
func memoryFunctions() []function {
	one, two := []api.ValueType{i64}, []api.ValueType{i64, i64}
	number := []api.ValueType{i32}
	length := plain(func(s *State, stack []uint64) { stack[0] = s.mem.length(stack[0]) })
	return []function{
		{"alloc", one, one, plain(alloc)},
		{"free", one, nil, plain(freeBlock)},
		{"length", one, one, length},
		{"length_unsafe", one, one, length},
		{"load_u8", one, number, word(loadU8)},
		{"load_u64", one, one, word(loadU64)},
		{"store_u8", []api.ValueType{i64, i32}, nil, word(storeU8)},
		{"store_u64", two, nil, word(storeU64)},
		{"input_offset", nil, one, plain(func(s *State, stack []uint64) { s.needCall(); stack[0] = s.inputOff })},
		{"input_length", nil, one, plain(func(s *State, stack []uint64) { s.needCall(); stack[0] = s.inputLen })},
		{"input_load_u8", one, number, word(inputLoadU8)},
		{"input_load_u64", one, one, word(inputLoadU64)},
		{"input_set", two, nil, plain(inputSet)},
		{"output_set", two, nil, plain(outputSet)},
		{"output_offset", nil, one, plain(func(s *State, stack []uint64) { stack[0] = s.outputOff })},
		{"output_length", nil, one, plain(func(s *State, stack []uint64) { stack[0] = s.outputLen })},
		{"error_set", one, nil, plain(errorSet)},
		{"error_get", nil, one, plain(func(s *State, stack []uint64) { stack[0] = s.errorOff })},
		{"memory_bytes", nil, one, plain(func(s *State, stack []uint64) { stack[0] = uint64(len(s.mem.data)) })},
		{"reset", nil, nil, plain(resetAll)},
	}
}

func alloc(s *State, stack []uint64) {
	s.watchBytes(stack[0])
	stack[0] = s.mem.alloc(stack[0])
}

func freeBlock(s *State, stack []uint64) { s.free(stack[0]) }

// free frees a block. Without its block the input is empty, as in Extism's kernel; the
// output and the error text stay where they were.
func (s *State) free(off uint64) {
	if s.mem.release(off) && off == s.inputOff {
		s.inputLen = 0
	}
}

func resetAll(s *State, _ []uint64) {
	s.mem.reset()
	s.inputOff, s.inputLen, s.outputOff, s.outputLen, s.errorOff = 0, 0, 0, 0, 0
}

// A load of one byte outside of memory is 0 and a store of one is nothing, as in
// Extism's kernel; of eight bytes it ends the call, as in go-sdk.

func loadU8(s *State, stack []uint64) {
	if b, ok := s.mem.view(stack[0], 1); ok {
		stack[0] = uint64(b[0])
		return
	}
	stack[0] = 0
}

func storeU8(s *State, stack []uint64) {
	if b, ok := s.mem.view(stack[0], 1); ok {
		b[0] = byte(stack[1])
	}
}

func loadU64(s *State, stack []uint64) { stack[0] = binary.LittleEndian.Uint64(s.eight(stack[0])) }

func storeU64(s *State, stack []uint64) {
	binary.LittleEndian.PutUint64(s.eight(stack[0]), stack[1])
}

func (s *State) eight(off uint64) []byte {
	b, ok := s.mem.view(off, 8)
	if !ok {
		panic(fault("The guest used 8 bytes at the offset %d, which is outside of the call's memory.", off))
	}
	return b
}

func inputLoadU8(s *State, stack []uint64) {
	s.needCall()
	if stack[0] >= s.inputLen {
		stack[0] = 0
		return
	}
	stack[0] += s.inputOff
	loadU8(s, stack)
}

func inputLoadU64(s *State, stack []uint64) {
	s.needCall()
	off := s.inputOff + stack[0]
	if off < s.inputOff {
		panic(fault("The guest read its input at the offset %d, which is outside of it.", stack[0]))
	}
	stack[0] = binary.LittleEndian.Uint64(s.eight(off))
}

func inputSet(s *State, stack []uint64) {
	s.needCall()
	if s.mem.inBounds(stack[0], stack[1]) {
		s.inputOff, s.inputLen = stack[0], stack[1]
	}
}

// outputSet ignores bytes outside of memory, as Extism's kernel does, and says so
// in the log: the author of a plugin would look for a lost output for long.
func outputSet(s *State, stack []uint64) {
	if stack[1] == 0 {
		s.outputOff, s.outputLen = 0, 0
		return
	}
	if !s.mem.inBounds(stack[0], stack[1]) {
		s.log.write("warn", []byte("output_set names bytes outside of the call's memory and was ignored."))
		return
	}
	s.outputOff, s.outputLen = stack[0], stack[1]
}

func errorSet(s *State, stack []uint64) {
	if stack[0] == 0 || s.mem.inBounds(stack[0], 1) {
		s.errorOff = stack[0]
	}
}

func configGet(s *State, _ context.Context, stack []uint64) {
	call := s.needCall()
	stack[0] = s.answer("config_get", []byte(call.Config[string(s.text("config_get", stack[0]))]))
}

func varGet(s *State, _ context.Context, stack []uint64) {
	s.needCall()
	value := s.vars[string(s.text("var_get", stack[0]))]
	s.free(stack[0])
	stack[0] = s.answer("var_get", value)
}

// varSet sets a variable for the rest of the call; the null block removes it. Both
// blocks are freed, as Extism does, and as in go-sdk the value that is replaced still
// counts while the new one is looked at.
func varSet(s *State, _ context.Context, stack []uint64) {
	s.needCall()
	name := string(s.text("var_set", stack[0]))
	s.free(stack[0])
	if stack[1] == 0 {
		if old, had := s.vars[name]; had {
			s.varBytes -= len(name) + len(old) + varCost
			delete(s.vars, name)
		}
		return
	}
	value := s.text("var_set", stack[1])
	s.free(stack[1])
	if s.varBytes+len(name)+len(value)+varCost >= maxVarBytes {
		panic(fault("The variables of the call take more than 1 MiB."))
	}
	s.SetVariable(name, value)
}
