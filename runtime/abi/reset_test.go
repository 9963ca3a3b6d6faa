package abi

import (
	"context"
	"reflect"
	"testing"
)

// TestResetKnowsEveryField fails when the state has a field that Reset was not thought
// through for.
func TestResetKnowsEveryField(t *testing.T) {
	kept := "belongs to the instance, not to a call"
	treated := map[string]string{
		"ctx": "forget", "call": "forget", "request": "forget", "inputOff": "forget", "inputLen": "forget",
		"outputOff": "forget", "outputLen": "forget",
		"errorOff": "forget", "words": "forget", "looks": "forget", "watched": "forget", "httpStatus": "forget",
		"httpHeaders": "forget",
		"fuel":        "Reset", "mem": "Reset", "vars": "Reset", "varBytes": "Reset", "log": "Reset", "stdout": "Reset",
		"stderr": "Reset",
		"limit":  "Begin sets it", "errno": "exact sets it before it reads it", "linear": kept,
	}
	for i := range reflect.TypeFor[State]().NumField() {
		if name := reflect.TypeFor[State]().Field(i).Name; treated[name] == "" {
			t.Errorf("does Reset leave anything of a call in the field %s?", name)
		}
	}
}

// TestKernelMemoryAfterResetIsAsNew writes all over the kernel's memory, with what
// blocks it has and how large it grew each time another.
func TestKernelMemoryAfterResetIsAsNew(t *testing.T) {
	s := NewState(context.Background(), 64<<20, 1)
	for _, size := range []uint64{1, 100, 5000, 200_000, 3 << 20, 9 << 20, 10, 3 << 20} {
		fresh := NewState(context.Background(), 64<<20, 1)
		off, want := s.mem.alloc(size), fresh.mem.alloc(size)
		if off != want || s.mem.size() != fresh.mem.size() {
			t.Fatalf("a block of %d at %d in %d bytes; in a new state at %d in %d", size, off, s.mem.size(), want,
				fresh.mem.size())
		}
		for at, b := range s.mem.data {
			if b != 0 {
				t.Fatalf("the byte at %d is %d", at, b)
			}
		}
		for at := range s.mem.data {
			s.mem.data[at] = 0xff
		}
		s.mem.release(off)
		s.mem.reset()
		if !s.mem.untouched() || s.mem.length(off) != 0 {
			t.Fatal("a block is left after a reset")
		}
	}
}
