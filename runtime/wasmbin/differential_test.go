package wasmbin_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// wazeroDir is the source of wazero, which has modules that others built and the
// official test suite of WebAssembly 2.0.
func wazeroDir(t testing.TB) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatalf("find wazero: %v", err)
	}
	return strings.TrimSpace(string(dir))
}

// realModules are modules that others built, from Rust, Zig, C, TinyGo and
// AssemblyScript. Some import what is not run here.
func realModules(t testing.TB) map[string][]byte {
	t.Helper()
	modules := map[string][]byte{}
	for _, pattern := range []string{
		"examples/allocation/*/testdata/*.wasm", "examples/*/testdata/*.wasm",
		"imports/wasi_snapshot_preview1/testdata/*/*.wasm", "imports/wasi_snapshot_preview1/example/testdata/*/*.wasm",
		"imports/assemblyscript/example/testdata/*.wasm",
	} {
		paths, err := filepath.Glob(filepath.Join(wazeroDir(t), pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no modules like %s: %v", pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			modules[path] = data
		}
	}
	return modules
}

// verdict is what our reader and validator say together.
func verdict(wasm []byte) error {
	limits := wasmbin.DefaultLimits()
	m, err := wasmbin.Read(wasm, limits)
	if err != nil {
		return err
	}
	return wasmbin.Validate(m)
}

// wazeroVerdict is what wazero says, with the same features. It panics on some invalid
// modules, which is a refusal too.
func wazeroVerdict(t testing.TB, wasm []byte) (err error) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("wazero panicked: %v", v)
		}
	}()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	defer rt.Close(ctx)
	_, err = rt.CompileModule(ctx, wasm)
	return err
}

// compare asserts that ours is never laxer than wazero, and stricter only for a limit and
// for what is not run here. What Read refuses wazero must not see: it reads unchecked
// counts, and may take all memory.
func compare(t testing.TB, wasm []byte) {
	t.Helper()
	m, err := wasmbin.Read(wasm, wasmbin.DefaultLimits())
	if err == nil {
		err = wasmbin.Validate(m)
	}
	var e *wasmbin.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("untyped error: %v", err)
	}
	if m == nil || err != nil && e.Kind != wasmbin.Invalid {
		return
	}
	theirs := wazeroVerdict(t, withoutCustom(wasm))
	switch {
	case err == nil && theirs != nil:
		t.Fatalf("ours is laxer: wazero says %v\n%x", theirs, head(wasm))
	case err != nil && theirs == nil:
		t.Fatalf("ours is stricter without a reason: %v\n%x", err, head(wasm))
	}
}

// withoutCustom leaves out custom sections: wazero refuses a damaged name section, which
// the specification says is to be ignored.
func withoutCustom(wasm []byte) []byte {
	sections, err := wasmbin.Sections(wasm, 1000)
	if err != nil {
		return wasm
	}
	out := append([]byte(nil), wasm[:wasmbin.HeaderSize]...)
	for _, s := range sections {
		if s.ID != wasmbin.SectionCustom {
			out = append(out, wasm[s.Start:s.End]...)
		}
	}
	return out
}

func head(wasm []byte) []byte { return wasm[:min(len(wasm), 400)] }

func TestRealModulesAreValid(t *testing.T) {
	for name, wasm := range realModules(t) {
		if err := verdict(wasm); err != nil && !strings.Contains(err.Error(), "only functions can be imported") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestValidatorAgreesWithWazero compares verdicts on generated modules and on
// mutations of generated and real ones, from fixed seeds.
func TestValidatorAgreesWithWazero(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 300
	}
	var valid int
	for seed := range n {
		wasm := wasmtest.Generate(binary.LittleEndian.AppendUint64(nil, uint64(seed)*0x9e3779b97f4a7c15))
		if err := verdict(wasm); err != nil {
			t.Fatalf("a generated module is refused: %v", err)
		}
		compare(t, wasm)
		for i := range uint64(4) {
			mutant := mutate(wasm, rand.New(rand.NewPCG(uint64(seed), i)))
			compare(t, mutant)
			if verdict(mutant) == nil {
				valid++
			}
		}
	}
	t.Logf("%d of %d mutants are valid", valid, 4*n)
	for name, wasm := range realModules(t) {
		if len(wasm) > 200_000 {
			continue
		}
		for i := range uint64(40) {
			mutant := mutate(wasm, rand.New(rand.NewPCG(uint64(len(name)), i)))
			compare(t, mutant)
		}
	}
}

// mutate changes one to three bytes, mostly by little.
func mutate(wasm []byte, r *rand.Rand) []byte {
	out := append([]byte(nil), wasm...)
	for range 1 + r.IntN(3) {
		i := wasmbin.HeaderSize + r.IntN(len(out)-wasmbin.HeaderSize)
		switch r.IntN(4) {
		case 0:
			out[i]++
		case 1:
			out[i]--
		case 2:
			out[i] = byte(r.IntN(256))
		default:
			out[i] ^= 1 << r.IntN(8)
		}
	}
	return out
}

// FuzzValidate asserts what compare does.
func FuzzValidate(f *testing.F) {
	f.Add(sample().Bytes())
	for seed := range uint64(20) {
		f.Add(wasmtest.Generate(binary.LittleEndian.AppendUint64(nil, seed*0x9e3779b97f4a7c15)))
	}
	for _, wasm := range realModules(f) {
		if len(wasm) < 3000 {
			f.Add(wasm)
		}
	}
	f.Fuzz(func(t *testing.T, wasm []byte) { compare(t, wasm) })
}
