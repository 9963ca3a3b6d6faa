package guesttest

import (
	"strings"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// What call_tool of a hand-made guest does.
const (
	Traps   = "traps"
	Loops   = "loops" // after one line in the log
	Answers = "answers: "
)

// Bad assembles a module that lists one tool, bad, and whose call_tool does
// what it says.
func Bad(does string) []byte {
	return BadWith(`{"tools":[{"name":"bad","description":"d"}]}`, does)
}

// BadWith is Bad with another answer of list_tools.
func BadWith(list, does string) []byte {
	m := &wasmtest.Module{}
	alloc := m.Import("extism:host/env", "alloc", wasmtest.Types{wasmtest.I64}, wasmtest.Types{wasmtest.I64})
	write := m.Import("bulkhead:host/mem", "write", wasmtest.Types{wasmtest.I64, wasmtest.I32, wasmtest.I32}, nil)
	warn := m.Import("extism:host/env", "log_warn", wasmtest.Types{wasmtest.I64}, nil)
	output := m.Import("extism:host/env", "output_set", wasmtest.Types{wasmtest.I64, wasmtest.I64}, nil)
	m.Memory(1)
	i32 := wasmtest.Types{wasmtest.I32}
	say := func(at int32, text string) [][]byte {
		n := len(text)
		m.Data(at, []byte(text))
		return [][]byte{
			wasmtest.Const64(int64(n)), wasmtest.Call(alloc), wasmtest.Set(0),
			wasmtest.Get(0), wasmtest.Const32(at), wasmtest.Const32(int32(n)), wasmtest.Call(write),
			wasmtest.Get(0), wasmtest.Const64(int64(n)), wasmtest.Call(output),
			wasmtest.Const32(0),
		}
	}
	m.Func("list_tools", i32, 1, say(0, list)...)
	switch {
	case does == Traps:
		m.Func("call_tool", i32, 0, wasmtest.Unreachable)
	case does == Loops:
		m.Func("call_tool", i32, 0, wasmtest.Const64(8), wasmtest.Call(alloc), wasmtest.Call(warn),
			wasmtest.Loop, wasmtest.Again, wasmtest.End, wasmtest.Const32(0))
	default:
		m.Func("call_tool", i32, 1, say(32<<10, strings.TrimPrefix(does, Answers))...)
	}
	return m.Bytes()
}
