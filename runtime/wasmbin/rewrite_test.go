package wasmbin_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// shifting adds one of everything.
var shifting = wasmbin.Edit{
	Imports: []wasmbin.NewImport{{Module: "added", Name: "f",
		Type: wasmbin.FuncType{Params: wasmtest.Types{wasmtest.I64}}}},
	Functions: []wasmbin.NewFunction{{Body: []byte{0, 0x0b}}},
	Globals:   []wasmbin.NewGlobal{{}},
	Strip:     true,
}

// rewriteLaws are what holds for each valid module: no edit, same bytes; an edit, a
// valid module that says what it said before, and the same bytes each time.
func rewriteLaws(t *testing.T, wasm []byte) {
	t.Helper()
	limits := wasmbin.DefaultLimits()
	m, err := wasmbin.Read(wasm, limits)
	if err != nil {
		return
	}
	if wasmbin.Validate(m) != nil {
		return
	}
	same, err := wasmbin.Rewrite(wasm, m, &wasmbin.Edit{})
	if err != nil || !bytes.Equal(same, wasm) {
		t.Fatalf("without an edit the bytes changed: %v", err)
	}
	out, err := wasmbin.Rewrite(wasm, m, &shifting)
	if err != nil {
		t.Fatal(err)
	}
	again, err := wasmbin.Rewrite(wasm, m, &shifting)
	if err != nil || !bytes.Equal(again, out) {
		t.Fatal("the same edit gave other bytes")
	}
	after, err := wasmbin.Read(out, limits)
	var refused *wasmbin.Error
	if errors.As(err, &refused) && refused.Kind == wasmbin.TooLarge {
		return
	}
	if err != nil {
		t.Fatalf("the result is refused: %v\n%x", err, head(out))
	}
	if err := wasmbin.Validate(after); err != nil {
		t.Fatalf("the result is not valid: %v\n%x", err, head(out))
	}
	if len(after.Imports) != len(m.Imports)+1 || after.Functions != m.Functions+1 ||
		len(after.Globals) != len(m.Globals)+1 {
		t.Fatal("the edit is not in the result")
	}
	for i, e := range m.Exports {
		if after.Exports[i].Type.String() != e.Type.String() || after.Exports[i].Name != e.Name {
			t.Fatalf("export %q became %q %s", e.Name, after.Exports[i].Name, after.Exports[i].Type)
		}
	}
}

func TestRewriteKeepsItsLaws(t *testing.T) {
	for name, wasm := range realModules(t) {
		t.Log(name)
		rewriteLaws(t, wasm)
	}
	for _, wasm := range specModules(t) {
		rewriteLaws(t, wasm)
	}
	for seed := range uint64(300) {
		rewriteLaws(t, wasmtest.Generate(binary.LittleEndian.AppendUint64(nil, seed)))
	}
}

// TestRewriteShiftsEveryFunctionIndex names function 0 in every place that can.
func TestRewriteShiftsEveryFunctionIndex(t *testing.T) {
	var b wasmtest.Module
	f := b.Func("f", nil, 0, wasmtest.Call(0), []byte{0xd2, 0x00, 0x1a})
	b.Section(wasmbin.SectionTable, []byte{1, 0x70, 0, 9})
	b.Section(wasmbin.SectionGlobal, []byte{1, 0x70, 0, 0xd2, 0, 0x0b})
	b.Start(f)
	b.Section(wasmbin.SectionElement, []byte{8,
		0, 0x41, 0, 0x0b, 1, 0,
		1, 0, 1, 0,
		2, 0, 0x41, 0, 0x0b, 0, 1, 0,
		3, 0, 1, 0,
		4, 0x41, 0, 0x0b, 1, 0xd2, 0, 0x0b,
		5, 0x70, 1, 0xd2, 0, 0x0b,
		6, 0, 0x41, 0, 0x0b, 0x70, 1, 0xd2, 0, 0x0b,
		7, 0x70, 1, 0xd2, 0, 0x0b,
	})
	b.Custom("name", []byte{1, 4, 1, 0, 1, 'f', 2, 6, 1, 0, 1, 0, 1, 'x'})
	b.Custom(".debug_info", []byte{0})
	b.Custom("metadata.code.branch_hint", []byte{0})
	wasm := b.Bytes()
	m, err := wasmbin.Read(wasm, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	out, err := wasmbin.Rewrite(wasm, m, &shifting)
	if err != nil {
		t.Fatal(err)
	}
	want := map[wasmbin.SectionID][]byte{
		wasmbin.SectionExport: {1, 1, 'f', 0, 1},
		wasmbin.SectionStart:  {1},
		wasmbin.SectionGlobal: {2, 0x70, 0, 0xd2, 1, 0x0b, 0x7e, 1, 0x42, 0, 0x0b},
		wasmbin.SectionElement: {8,
			0, 0x41, 0, 0x0b, 1, 1,
			1, 0, 1, 1,
			2, 0, 0x41, 0, 0x0b, 0, 1, 1,
			3, 0, 1, 1,
			4, 0x41, 0, 0x0b, 1, 0xd2, 1, 0x0b,
			5, 0x70, 1, 0xd2, 1, 0x0b,
			6, 0, 0x41, 0, 0x0b, 0x70, 1, 0xd2, 1, 0x0b,
			7, 0x70, 1, 0xd2, 1, 0x0b},
		wasmbin.SectionCode:   {2, 7, 0, 0x10, 1, 0xd2, 1, 0x1a, 0x0b, 2, 0, 0x0b},
		wasmbin.SectionCustom: {1, 4, 1, 1, 1, 'f', 2, 6, 1, 1, 1, 0, 1, 'x'},
	}
	sections, err := wasmbin.Sections(out, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections {
		if data, ok := want[s.ID]; ok && !bytes.Equal(s.Data, data) {
			t.Errorf("section %d = %x; want %x", s.ID, s.Data, data)
		}
		if s.ID == wasmbin.SectionCustom && s.Name != "name" {
			t.Errorf("section %q was kept", s.Name)
		}
	}
}

// TestReservedNamesAreRefused covers names that would reach what metering adds.
func TestReservedNamesAreRefused(t *testing.T) {
	var imports, exports wasmtest.Module
	imports.Import("bulkhead:host/meter", "refill", wasmtest.Types{wasmtest.I64}, wasmtest.Types{wasmtest.I64})
	exports.Func("bulkhead:fuel", nil, 0)
	for _, wasm := range [][]byte{imports.Bytes(), exports.Bytes()} {
		err := verdict(wasm)
		var refused *wasmbin.Error
		if !errors.As(err, &refused) || refused.Kind != wasmbin.Unsupported {
			t.Errorf("err = %v", err)
		}
	}
}

// FuzzRewrite asserts the laws of rewriting for any valid module.
func FuzzRewrite(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(wasmtest.Generate(binary.LittleEndian.AppendUint64(nil, seed)))
	}
	f.Add(sample().Bytes())
	f.Fuzz(func(t *testing.T, wasm []byte) { rewriteLaws(t, wasm) })
}
