package wasmbin_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// specSuite is the official test suite of WebAssembly 2.0 in wazero's source.
const specSuite = "internal/integration_test/spectest/v2/testdata"

// specModules are all modules of the suite, valid or not.
func specModules(t testing.TB) (modules [][]byte) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(wazeroDir(t), specSuite, "*.wasm"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no test suite: %v", err)
	}
	for _, path := range paths {
		wasm, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, wasm)
	}
	return modules
}

// TestSpecificationsTestSuite gives the verdicts that the official test suite of
// WebAssembly 2.0 expects: valid modules pass, or ask for what is not run here;
// modules that must be malformed or invalid are refused.
func TestSpecificationsTestSuite(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join(wazeroDir(t), specSuite, "*.json"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no test suite: %v", err)
	}
	var valid, refused, unsupported int
	for _, path := range scripts {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var script struct {
			Commands []struct {
				Type, Filename, Text string
				Line                 int
				ModuleType           string `json:"module_type"`
			}
		}
		if err := json.Unmarshal(data, &script); err != nil {
			t.Fatal(err)
		}
		for _, c := range script.Commands {
			if c.Filename == "" || c.ModuleType == "text" {
				continue
			}
			wasm, err := os.ReadFile(filepath.Join(filepath.Dir(path), c.Filename))
			if err != nil {
				t.Fatal(err)
			}
			err = verdict(wasm)
			var e *wasmbin.Error
			switch {
			case c.Type == "assert_invalid" || c.Type == "assert_malformed":
				refused++
				if err == nil {
					t.Errorf("%s, line %d (%s): accepted; %s", filepath.Base(path), c.Line, c.Filename, c.Text)
				}
			case err == nil:
				valid++
			case errors.As(err, &e) && (e.Kind == wasmbin.Unsupported || e.Kind == wasmbin.TooLarge):
				unsupported++
			default:
				t.Errorf("%s, line %d (%s): refused: %v", filepath.Base(path), c.Line, c.Filename, err)
			}
		}
	}
	t.Logf("%d valid, %d refused, %d not run here", valid, refused, unsupported)
	if valid < 500 || refused < 2000 {
		t.Errorf("only %d valid and %d refused modules were found", valid, refused)
	}
}
