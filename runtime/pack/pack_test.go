package pack_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/pack"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

func plain() []byte {
	var m wasmtest.Module
	m.Func("call", wasmtest.Types{wasmtest.I32}, 0, wasmtest.Const32(0))
	m.Custom("producers", []byte("go"))
	return m.Bytes()
}

func TestWithSectionAddsAndReplaces(t *testing.T) {
	wasm := plain()
	for _, want := range []string{`{"manifest":1}`, `{"manifest":1,"name":"x"}`, ""} {
		var err error
		if wasm, err = pack.WithSection(wasm, pack.SectionManifest, []byte(want)); err != nil {
			t.Fatal(err)
		}
		got, found, err := pack.Section(wasm, pack.SectionManifest)
		if err != nil || !found || string(got) != want {
			t.Fatalf("section = %q, %v, %v; want %q", got, found, err, want)
		}
	}
	sections, err := pack.Sections(wasm)
	if err != nil || len(sections) != 2 || sections[0].Name != "producers" {
		t.Errorf("sections = %v, %v", sections, err)
	}
	if !bytes.HasPrefix(wasm, plain()) {
		t.Error("the module's own bytes were changed")
	}
}

func TestSectionOfModuleWithoutManifest(t *testing.T) {
	if _, found, err := pack.Section(plain(), pack.SectionManifest); found || err != nil {
		t.Errorf("found = %v, err = %v", found, err)
	}
}

func TestSecondSectionOfANameIsAnError(t *testing.T) {
	for _, name := range []string{pack.SectionManifest, pack.SectionAssets, pack.SectionSignature} {
		wasm := wasmbin.AppendCustom(wasmbin.AppendCustom(plain(), name, []byte("1")), name, []byte("2"))
		var duplicate *pack.DuplicateError
		if _, err := pack.Sections(wasm); !errors.As(err, &duplicate) || duplicate.Name != name {
			t.Errorf("Sections: %v", err)
		}
		if _, _, err := pack.Section(wasm, "producers"); !errors.As(err, &duplicate) {
			t.Errorf("Section: %v", err)
		}
		if _, err := pack.WithSection(wasm, name, nil); !errors.As(err, &duplicate) {
			t.Errorf("WithSection: %v", err)
		}
	}
}

func TestWithSectionDropsSignature(t *testing.T) {
	signed := wasmbin.AppendCustom(plain(), pack.SectionSignature, []byte("sig"))
	wasm, err := pack.WithSection(signed, pack.SectionManifest, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, found, _ := pack.Section(wasm, pack.SectionSignature); found {
		t.Error("a signature over other bytes was kept")
	}
}

// FuzzWithSection asserts that what was written is read back, and that nothing else
// of the module changes.
func FuzzWithSection(f *testing.F) {
	f.Add(plain(), []byte("{}"))
	f.Add(wasmbin.AppendCustom(plain(), pack.SectionManifest, []byte("1")), []byte("2"))
	f.Add([]byte{0, 'a', 's', 'm', 1, 0, 0, 0}, []byte{})
	f.Fuzz(func(t *testing.T, wasm, data []byte) {
		before, err := pack.Sections(wasm)
		if err != nil {
			return
		}
		out, err := pack.WithSection(wasm, pack.SectionManifest, data)
		if err != nil {
			if len(before) < wasmbin.DefaultLimits().CustomSections {
				t.Fatalf("WithSection: %v", err)
			}
			return
		}
		after, err := pack.Sections(out)
		if err != nil {
			t.Fatalf("the result is refused: %v", err)
		}
		if last := after[len(after)-1]; last.Name != pack.SectionManifest || !bytes.Equal(last.Data, data) {
			t.Fatalf("last section = %q %q", last.Name, last.Data)
		}
		again, err := pack.WithSection(out, pack.SectionManifest, data)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatal("writing the same section twice changed the module")
		}
	})
}
