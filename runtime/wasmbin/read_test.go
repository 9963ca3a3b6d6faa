package wasmbin_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// sample is a module with something in most sections.
func sample() *wasmtest.Module {
	var m wasmtest.Module
	alloc := m.Import("extism:host/env", "alloc", wasmtest.Types{wasmtest.I64}, wasmtest.Types{wasmtest.I64})
	m.Memory(1)
	m.Table(3)
	m.Func("call", wasmtest.Types{wasmtest.I32}, 2,
		wasmtest.Const64(5), wasmtest.Call(alloc), wasmtest.Drop, wasmtest.Const32(0))
	m.Data(16, []byte("hello"))
	m.Section(wasmbin.SectionGlobal, []byte{1, 0x7f, 1, 0x41, 0x2a, 0x0b})
	m.Section(wasmbin.SectionElement, []byte{1, 0, 0x41, 0, 0x0b, 1, 1})
	m.Custom("producers", []byte("x"))
	return &m
}

func TestReadSummarisesModule(t *testing.T) {
	m, err := wasmbin.Read(sample().Bytes(), wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Imports) != 1 || m.Imports[0].Type.String() != "(i64) -> (i64)" {
		t.Errorf("imports = %v", m.Imports)
	}
	call, ok := m.Export("call", wasmbin.ExternFunc)
	if !ok || call.Type.String() != "() -> (i32)" {
		t.Errorf("export call = %v, %v", call, ok)
	}
	if m.Memory == nil || m.Memory.Min != 1 || len(m.Tables) != 1 || m.Tables[0].Min != 3 || m.Functions != 1 {
		t.Errorf("summary = %+v", m)
	}
}

func TestReadRefusesWithASentence(t *testing.T) {
	var limits = wasmbin.DefaultLimits()
	cases := map[string]struct {
		wasm []byte
		kind wasmbin.Kind
		says string
	}{
		"empty":           {nil, wasmbin.Malformed, "not a WebAssembly module"},
		"text":            {[]byte("(module)"), wasmbin.Malformed, "not a WebAssembly module"},
		"component":       {[]byte{0, 'a', 's', 'm', 0x0d, 0, 1, 0}, wasmbin.Unsupported, "wasm32-wasip1"},
		"future version":  {[]byte{0, 'a', 's', 'm', 2, 0, 0, 0}, wasmbin.Unsupported, "version 1"},
		"cut short":       {sample().Bytes()[:40], wasmbin.Malformed, "cut short"},
		"doubled section": {append(module(wasmbin.SectionType, 0), 1, 1, 0), wasmbin.Malformed, "out of order"},
		"wrong order":     {append(module(wasmbin.SectionImport, 0), 1, 1, 0), wasmbin.Malformed, "out of order"},
		"exceptions":      {module(13, 0), wasmbin.Unsupported, "exceptions"},
		"unknown section": {module(14, 0), wasmbin.Malformed, "unknown kind"},
		"shared memory":   {module(wasmbin.SectionMemory, 1, 3, 1, 1), wasmbin.Unsupported, "threads"},
		"memory64":        {module(wasmbin.SectionMemory, 1, 4, 1), wasmbin.Unsupported, "wasm32"},
		"two memories":    {module(wasmbin.SectionMemory, 2, 0, 1, 0, 1), wasmbin.Unsupported, "multi-memory"},
		"max below min":   {module(wasmbin.SectionMemory, 1, 1, 5, 1), wasmbin.Malformed, "below its minimum"},
		"imported memory": {module(wasmbin.SectionImport, 1, 1, 'e', 1, 'm', 2, 0, 1), wasmbin.Unsupported,
			"imports the memory"},
		"imported global": {module(wasmbin.SectionImport, 1, 1, 'e', 1, 'g', 3, 0x7f, 0), wasmbin.Unsupported,
			"imports the global"},
		"many types":  {module(wasmbin.SectionType, 0xff, 0xff, 0xff, 0xff, 0x0f), wasmbin.TooLarge, "types"},
		"lying count": {module(wasmbin.SectionType, 0x80, 0x01, 0x60), wasmbin.Malformed, "too short"},
		"struct type": {module(wasmbin.SectionType, 1, 0x5f, 0), wasmbin.Unsupported, "garbage collection"},
		"table bomb": {module(wasmbin.SectionTable, 1, 0x70, 0, 0xff, 0xff, 0xff, 0x7f), wasmbin.TooLarge,
			"table entries"},
		"data bomb": {module(wasmbin.SectionData, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f), wasmbin.Malformed,
			"cut short"},
		"element bomb": {module(wasmbin.SectionElement, 1, 5, 0x70, 0xff, 0xff, 0xff, 0xff, 0x0f),
			wasmbin.TooLarge, "entries"},
		"extended constant": {module(wasmbin.SectionGlobal, 1, 0x7f, 0, 0x41, 1, 0x41, 1, 0x6a, 0x0b),
			wasmbin.Unsupported, "extended-const"},
		"long number": {module(wasmbin.SectionType, 0x80, 0x80, 0x80, 0x80, 0x80, 0), wasmbin.Malformed,
			"longer than its width"},
		"trailing bytes": {module(wasmbin.SectionType, 0, 0), wasmbin.Malformed, "too many"},
		"locals bomb":    {localsBomb(), wasmbin.TooLarge, "locals"},
		"missing bodies": {append(module(wasmbin.SectionType, 1, 0x60, 0, 0), 3, 2, 1, 0), wasmbin.Malformed, "bodies"},
		"bad UTF-8 name": {module(wasmbin.SectionCustom, 1, 0xff), wasmbin.Malformed, "UTF-8"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := wasmbin.Read(c.wasm, limits)
			var refused *wasmbin.Error
			if !errors.As(err, &refused) {
				t.Fatalf("err = %v", err)
			}
			if refused.Kind != c.kind || !strings.Contains(refused.Message, c.says) {
				t.Errorf("%s: %q; want %s with %q", refused.Kind, refused.Message, c.kind, c.says)
			}
		})
	}
}

func TestReadRefusesBeyondModuleSize(t *testing.T) {
	limits := wasmbin.DefaultLimits()
	limits.ModuleBytes = 20
	_, err := wasmbin.Read(sample().Bytes(), limits)
	var refused *wasmbin.Error
	if !errors.As(err, &refused) || refused.Kind != wasmbin.TooLarge {
		t.Fatalf("err = %v", err)
	}
}

func TestHardenBoundsTablesAndDropsCustomSections(t *testing.T) {
	limits := wasmbin.DefaultLimits()
	b := sample()
	b.Custom("name", []byte{1, 4, 1, 0, 1, 'f', 2, 1, 0})
	b.Custom(".debug_info", []byte("secret"))
	wasm := b.Bytes()
	m, err := wasmbin.Read(wasm, limits)
	if err != nil {
		t.Fatal(err)
	}
	hard := wasmbin.Harden(wasm, m, limits)
	if bytes.Contains(hard, []byte(".debug_info")) || bytes.Contains(hard, []byte("producers")) {
		t.Error("custom sections were kept")
	}
	after, err := wasmbin.Read(hard, limits)
	if err != nil {
		t.Fatal(err)
	}
	if got := after.Tables[0]; !got.HasMax || got.Min != 3 || got.Max != uint32(limits.TableEntries) {
		t.Errorf("table = %+v", got)
	}
	sections, err := wasmbin.Sections(hard, limits.CustomSections)
	if err != nil {
		t.Fatal(err)
	}
	last := sections[len(sections)-1]
	if last.Name != "name" || !bytes.Equal(last.Data, []byte{1, 4, 1, 0, 1, 'f'}) {
		t.Errorf("last section = %+v", last)
	}
}

func TestHardenDropsNamesThatLie(t *testing.T) {
	b := sample()
	b.Custom("name", []byte{1, 5, 0xff, 0xff, 0xff, 0xff, 0x0f})
	wasm := b.Bytes()
	m, err := wasmbin.Read(wasm, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	sections, err := wasmbin.Sections(wasmbin.Harden(wasm, m, wasmbin.DefaultLimits()), 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections {
		if s.ID == wasmbin.SectionCustom {
			t.Errorf("section %q was kept", s.Name)
		}
	}
}

// FuzzRead asserts that whatever is accepted can be hardened and read again, with
// the same declarations.
func FuzzRead(f *testing.F) {
	f.Add(sample().Bytes())
	f.Add(localsBomb())
	f.Add(module(wasmbin.SectionElement, 1, 5, 0x70, 1, 0xd2, 0, 0x0b))
	f.Add(module(wasmbin.SectionMemory, 1, 1, 1, 2))
	limits := wasmbin.DefaultLimits()
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := wasmbin.Read(wasm, limits)
		if err != nil {
			var refused *wasmbin.Error
			if !errors.As(err, &refused) {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		again, err := wasmbin.Read(wasmbin.Harden(wasm, m, limits), limits)
		if err != nil {
			t.Fatalf("hardened module is refused: %v", err)
		}
		if len(again.Imports) != len(m.Imports) || len(again.Exports) != len(m.Exports) ||
			again.Functions != m.Functions {
			t.Fatal("hardening changed what the module declares")
		}
		for i, table := range again.Tables {
			if !table.HasMax || table.Min != m.Tables[i].Min || int(table.Max) > limits.TableEntries {
				t.Fatalf("table %d is not bounded: %+v", i, table)
			}
		}
	})
}

// module is a module with one section.
func module(id wasmbin.SectionID, content ...byte) []byte {
	return wasmbin.AppendSection([]byte{0, 'a', 's', 'm', 1, 0, 0, 0}, id, content)
}

// localsBomb is a module of 37 bytes with 2³²−1 locals.
func localsBomb() []byte {
	var m wasmtest.Module
	m.Func("f", nil, 0)
	m.Section(wasmbin.SectionCode, []byte{1, 8, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7e, 0x0b})
	return m.Bytes()
}

func TestHardenRaisesADeclaredMaximumOfMemory(t *testing.T) {
	for most, want := range map[uint32]uint32{1: 2, 100: 101, 1<<16 - 1: 1 << 16, 1 << 16: 1 << 16} {
		var b wasmtest.Module
		b.Section(wasmbin.SectionMemory, wasmbin.AppendU32([]byte{1, 1, 1}, most))
		limits := wasmbin.DefaultLimits()
		m, err := wasmbin.Read(b.Bytes(), limits)
		if err != nil {
			t.Fatal(err)
		}
		hard, err := wasmbin.Read(wasmbin.Harden(b.Bytes(), m, limits), limits)
		if err != nil || hard.Memory == nil || *hard.Memory != (wasmbin.Bounds{Min: 1, Max: want, HasMax: true}) {
			t.Errorf("maximum %d: %+v, %v", most, hard.Memory, err)
		}
	}
}
