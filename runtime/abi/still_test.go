package abi

import (
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// TestStillFunctionsHaveTheTypesOfWASI compares them with wazero's own, whose place they
// take.
func TestStillFunctionsHaveTheTypesOfWASI(t *testing.T) {
	rt := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(t.Context())
	compiled, err := wasi_snapshot_preview1.NewBuilder(rt).Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known := compiled.ExportedFunctions()
	for _, f := range stillFunctions() {
		k, ok := known[f.name]
		if !ok {
			t.Errorf("WASI has no %s", f.name)
			continue
		}
		if want := funcType(k.ParamTypes(), k.ResultTypes()); !sameType(want, f.params, f.results) {
			t.Errorf("%s has the type %s, in WASI %s", f.name, funcType(f.params, f.results), want)
		}
	}
}
