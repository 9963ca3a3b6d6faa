package meter

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

type action struct {
	Type, Field string
	Args        []struct {
		Type  string
		Value any
	}
}

type script struct {
	Commands []struct {
		Type, Filename, Name string
		Line                 int
		Action               action
	}
}

// TestSpecificationsTestSuiteGivesTheSame runs the calls of the official test suite on
// each module as it is and with fuel, and compares results and traps.
func TestSpecificationsTestSuiteGivesTheSame(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatalf("find wazero: %v", err)
	}
	paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)),
		"internal/integration_test/spectest/v2/testdata/*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no test suite: %v", err)
	}
	calls, spent := 0, int64(0)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var s script
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			n, fuel := runScript(t, filepath.Dir(path), &s)
			calls += n
			spent += fuel
		})
	}
	t.Logf("%d calls, %d fuel", calls, spent)
	if calls < 10_000 || spent == 0 {
		t.Errorf("only %d calls were compared", calls)
	}
}

// runScript runs those parts of a script whose module stands alone.
func runScript(t *testing.T, dir string, s *script) (calls int, fuel int64) {
	var plain, metered *guest
	for _, c := range s.Commands {
		switch c.Type {
		case "module":
			if metered != nil {
				fuel += metered.spent()
			}
			plain, metered = nil, nil
			wasm, err := os.ReadFile(filepath.Join(dir, c.Filename))
			if err != nil {
				t.Fatal(err)
			}
			info, err := wasmbin.Read(wasm, wasmbin.DefaultLimits())
			if err != nil || len(info.Imports) > 0 || wasmbin.Validate(info) != nil {
				continue // wasmbin's tests say for which modules that is right
			}
			a, errA := start(t, wasm, false, plenty)
			b, errB := start(t, instrument(t, wasm, Options{Globals: true}), false, plenty)
			if (errA == nil) != (errB == nil) {
				t.Fatalf("line %d: %v; with fuel %v", c.Line, errA, errB)
			}
			if errA == nil {
				plain, metered = a, b
			}
		case "assert_return", "assert_trap", "assert_exhaustion", "action":
			if plain == nil || c.Action.Type != "invoke" {
				continue
			}
			args, ok := arguments(c.Action)
			f, g := plain.ExportedFunction(c.Action.Field), metered.ExportedFunction(c.Action.Field)
			if !ok || f == nil || g == nil || len(args) != len(f.Definition().ParamTypes()) ||
				references(f.Definition().ResultTypes()) {
				continue
			}
			want, errWant := f.Call(t.Context(), args...)
			got, errGot := g.Call(t.Context(), args...)
			calls++
			if fmt.Sprint(want, reason(errWant)) != fmt.Sprint(got, reason(errGot)) {
				t.Errorf("line %d, %s: %v %v; with fuel %v %v", c.Line, c.Action.Field, want, errWant, got, errGot)
			}
		}
	}
	if metered != nil {
		fuel += metered.spent()
	}
	return calls, fuel
}

// references reports whether there is a reference among the types: its value is an
// address.
func references(types []api.ValueType) bool {
	for _, t := range types {
		if t == api.ValueTypeExternref || t == api.ValueType(wasmbin.FuncRef) {
			return true
		}
	}
	return false
}

// arguments returns numbers as the suite writes them: bits in decimal. ok is false for
// vectors and references.
func arguments(a action) (args []uint64, ok bool) {
	for _, arg := range a.Args {
		text, isText := arg.Value.(string)
		n, err := strconv.ParseUint(text, 10, 64)
		if !isText || err != nil || arg.Type == "v128" || strings.HasSuffix(arg.Type, "ref") {
			return nil, false
		}
		args = append(args, n)
	}
	return args, true
}
