package wasmbin_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// bomb is a module of one function with many locals and this code.
func bomb(locals uint32, code ...[]byte) []byte {
	var m wasmtest.Module
	body := append(wasmbin.AppendU32([]byte{1}, locals), byte(wasmbin.I32))
	m.Function(nil, nil, append(append(body, bytes.Join(code, nil)...), 0x0b))
	m.Memory(1)
	return m.Bytes()
}

// crowd is a module of n functions with this code.
func crowd(n int, code []byte) []byte {
	var m wasmtest.Module
	for range n {
		m.Function(nil, nil, slices.Concat([]byte{0}, code, []byte{0x0b}))
	}
	return m.Bytes()
}

// TestCodeThatTheCompilerMustNotSee has small modules that would take it gigabytes or
// minutes. Each is valid but for its size.
func TestCodeThatTheCompilerMustNotSee(t *testing.T) {
	block, loop, end := []byte{0x02, 0x40}, []byte{0x03, 0x40}, []byte{0x0b}
	nest := func(open []byte, n int) []byte {
		return slices.Concat(bytes.Repeat(open, n), bytes.Repeat(end, n))
	}
	var wide wasmtest.Module
	thousand := bytes.Repeat([]byte{byte(wasmbin.I32)}, 1000)
	manyResults := slices.Concat([]byte{2, 0x60, 0, 0, 0x60}, wasmbin.AppendU32(nil, 1000), thousand,
		wasmbin.AppendU32(nil, 1000), thousand)
	wide.Function(nil, nil, nil)
	wide.Section(wasmbin.SectionType, manyResults)
	wide.Section(wasmbin.SectionFunction, []byte{2, 1, 0})
	moving := slices.Concat([]byte{0}, bytes.Repeat([]byte{0x41, 0}, 1000), bytes.Repeat([]byte{0x10, 0}, 400),
		bytes.Repeat([]byte{0x1a}, 1000), end)
	wide.Section(wasmbin.SectionCode, slices.Concat([]byte{2, 3, 0, 0x00, 0x0b},
		wasmbin.AppendU32(nil, uint32(len(moving))), moving))

	table := slices.Concat([]byte{0x41, 0, 0x0e}, wasmbin.AppendU32(nil, 65_521), bytes.Repeat([]byte{0}, 65_522))
	tables := bytes.Repeat(slices.Concat(block, []byte{0x41, 0, 0x0e}, wasmbin.AppendU32(nil, 60_000),
		bytes.Repeat([]byte{0}, 60_001), end), 9)
	cases := map[string]struct {
		wasm []byte
		says string
	}{
		"nesting":     {bomb(0, nest(block, 20_001)), "nested blocks"},
		"labels":      {bomb(0, table), "labels in one br_table"},
		"many labels": {bomb(0, tables), "blocks and branches"},
		"ifs":         {bomb(0, bytes.Repeat([]byte{0x41, 0, 0x04, 0x40, 0x0b}, 13_334)), "blocks and branches"},
		"loops": {bomb(0, bytes.Repeat(slices.Concat(loop, []byte{0x41, 0, 0x0d, 0, 0x0b}), 1_601)),
			"blocks and branches"},
		"ranges": {bomb(0, bytes.Repeat([]byte{0x41, 0, 0x40, 0, 0x1a}, 13_334)), "blocks and branches"},
		"ranges, filled": {bomb(0, bytes.Repeat([]byte{0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 11, 0}, 4_445)),
			"blocks and branches"},
		"nested loops":   {bomb(0, nest(loop, 1_667)), "blocks and branches"},
		"functions":      {crowd(6, bytes.Repeat([]byte{0x41, 0, 0x04, 0x40, 0x0b}, 13_000)), "pairs of blocks"},
		"moved values":   {wide.Bytes(), "moved"},
		"loops × locals": {bomb(1000, nest(loop, 1000)), "blocks times locals"},
		"ifs × locals":   {bomb(20_000, bytes.Repeat([]byte{0x41, 0, 0x04, 0x40, 0x0b}, 200)), "blocks times locals"},
		"locals":         {bomb(20_001), "locals in one function"},
		"body":           {bomb(0, bytes.Repeat([]byte{0x01}, 1<<20)), "bytes in one function"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := verdict(c.wasm)
			var refused *wasmbin.Error
			if !errors.As(err, &refused) || refused.Kind != wasmbin.TooLarge ||
				!strings.Contains(refused.Message, c.says) {
				t.Errorf("err = %v; want too_large with %q", err, c.says)
			}
		})
	}
	for name, wasm := range map[string][]byte{
		"nesting": bomb(0, nest(block, 19_000)), "loops": bomb(100, nest(loop, 1000)),
	} {
		if err := verdict(wasm); err != nil {
			t.Errorf("%s within the limits: %v", name, err)
		}
	}
}

// TestProposalsAreRefusedWithTheirName has an instruction of each proposal that is not
// run here.
func TestProposalsAreRefusedWithTheirName(t *testing.T) {
	cases := map[string][]byte{
		"tail calls":         {0x12, 0x00},
		"exceptions":         {0x06, 0x40, 0x0b},
		"exceptions ":        {0x1f, 0x40, 0x00, 0x0b},
		"threads":            {0xfe, 0x03, 0x00},
		"relaxed SIMD":       {0xfd, 0x80, 0x02},
		"garbage collection": {0xfb, 0x00},
		"typed references":   {0x14, 0x00},
		"second memory":      {0x41, 0, 0x28, 0x42, 0x01, 0, 0x1a},
		"second memory ":     {0x3f, 0x01, 0x1a},
		"not part of":        {0xff},
		"more bytes than":    {0xfd, 0xfc, 0x00},
	}
	for says, code := range cases {
		err := verdict(bomb(0, code))
		var refused *wasmbin.Error
		if !errors.As(err, &refused) || refused.Kind != wasmbin.Unsupported ||
			!strings.Contains(refused.Message, strings.TrimSpace(says)) {
			t.Errorf("% x: %v; want unsupported with %q", code, err, says)
		}
	}
}
