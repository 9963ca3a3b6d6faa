package wasmbin_test

import (
	"reflect"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// TestAHollowModuleDeclaresTheSame compares what Read tells of modules and of their hollow
// copies, which must be valid.
func TestAHollowModuleDeclaresTheSame(t *testing.T) {
	for seed := range byte(100) {
		wasm := w.Generate([]byte{seed})
		hollow, err := wasmbin.Hollow(wasm)
		if err != nil {
			t.Fatal(err)
		}
		full, err := wasmbin.Read(wasm, wasmbin.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		info, err := wasmbin.Read(hollow, wasmbin.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if err := wasmbin.Validate(info); err != nil {
			t.Fatal(err)
		}
		same := reflect.DeepEqual(full.Imports, info.Imports) && reflect.DeepEqual(full.Exports, info.Exports) &&
			reflect.DeepEqual(full.Memory, info.Memory) && reflect.DeepEqual(full.Tables, info.Tables) &&
			reflect.DeepEqual(full.Types, info.Types) && reflect.DeepEqual(full.FuncTypes, info.FuncTypes) &&
			reflect.DeepEqual(full.Globals, info.Globals) && full.Functions == info.Functions &&
			full.HasStart == info.HasStart
		if !same || len(hollow) >= len(wasm) {
			t.Fatalf("seed %d: %d bytes of %d; %+v became %+v", seed, len(hollow), len(wasm), full, info)
		}
	}
	if _, err := wasmbin.Hollow([]byte("MZ")); err == nil {
		t.Error("what is no module became one")
	}
}
