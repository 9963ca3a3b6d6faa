package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestThisRepositoryKeepsTheRules reads every package of both modules.
func TestThisRepositoryKeepsTheRules(t *testing.T) {
	packages, err := Load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 5 {
		t.Fatalf("found only %d packages; the test reads the wrong folder", len(packages))
	}
	for _, sentence := range Check(packages) {
		t.Error(sentence)
	}
}

func pkg(path string, imports ...string) Package {
	for i, name := range imports {
		if within(name, "host") || within(name, "runtime") || within(name, "sandbox") || within(name, "plugins") ||
			within(name, "pdk") || within(name, "web") {
			imports[i] = Module + "/" + name
		}
	}
	return Package{Path: path, Name: filepath.Base(path), Imports: imports, Documented: true}
}

func TestForbiddenImportsAreFound(t *testing.T) {
	for _, tc := range []struct {
		path, imports string
	}{
		{"runtime/engine", "host/packet"},
		{"runtime/engine", "sandbox/gate"},
		{"runtime/pack", "plugins"},
		{"sandbox/gate", "host/store"},
		{"sandbox/gate", "runtime/engine"},
		{"plugins/search", "host/packet"},
		{"plugins/search", "host/textfile"},
		{"host/text/decode", "host/packet"},
		{"host/text/fold", "pdk/go"},
		{"plugins/search", "runtime/abi"},
		{"plugins/search", "sandbox/capability"},
		{"pdk/go", "runtime/abi"},
		{"pdk/go", "github.com/google/uuid"},
		{"pdk/go/tool", "github.com/google/uuid"},
		{"pdk/testkit", "sandbox/capability"},
		{"web", "host/packet"},
		{"host/plugin", "plugins/search"},
		{"host/plugin", "pdk/go"},
		{"runtime/registry", "pdk/go"},
		{"host/packet", "host/tool"},
		{"host/packet", "host/packet/packettest"},
		{"host/packet/packettest", "host/journal"},
		{"host/tool", "host/packet"},
		{"host/identity", "host/store"},
		{"host/step", "host/loop"},
		{"host/step", "host/turn"},
		{"host/loop", "host/turn"},
		{"host/loop/inner", "host/turn"},
		{"host/guest", "host/plugin"},
		{"host/guest/guesttest", "host/plugintool"},
		{"host/hostfunc", "host/guest"},
		{"host/hostfunc", "runtime/engine"},
		{"host/plugin", "host/plugintool"},
		{"host/plugin", "runtime/reference"},
		{"host/plugintool", "host/plugin"},
		{"host/turn", "host/api"},
		{"host/turn", "github.com/gofiber/fiber/v2"},
		{"host/cmd/bulkhead", "github.com/valyala/fasthttp"},
		{"host/knowledge", "go.etcd.io/bbolt"},
		{"sandbox/audit", "go.etcd.io/bbolt"},
		{"host/plugin", "github.com/tetratelabs/wazero/api"},
		{"sandbox/files", "github.com/tetratelabs/wazero/experimental/sys"},
		{"runtime/engine", "github.com/extism/go-sdk"},
		{"host/api", "github.com/spf13/cobra"},
		{"host/loop", "github.com/openai/openai-go/v3"},
		{"host/llm/openai", "github.com/anthropics/anthropic-sdk-go"},
	} {
		t.Run(tc.path+" "+tc.imports, func(t *testing.T) {
			found := Check([]Package{pkg(tc.path, "fmt", tc.imports)})
			if len(found) == 0 {
				t.Fatalf("%s imports %s and nothing was found", tc.path, tc.imports)
			}
			if !strings.HasPrefix(found[0], tc.path+" imports "+tc.imports+": ") {
				t.Fatalf("the sentence is %q", found[0])
			}
		})
	}
}

func TestAllowedImportsPass(t *testing.T) {
	for _, p := range []Package{
		pkg("host/plugin", "runtime/engine", "sandbox/gate", "host/tool", "plugins"),
		pkg("host/plugintool", "host/guest", "host/hostfunc", "runtime/engine", "runtime/reference"),
		pkg("host/guest", "host/hostfunc", "runtime/engine"),
		pkg("host/app", "plugins", "web", "github.com/spf13/cobra"),
		pkg("host/packet/packettest", "host/packet", "pgregory.net/rapid"),
		pkg("plugins/search", "pdk/go", "encoding/json"),
		pkg("plugins/open_url", "pdk/go", "host/text/decode"),
		pkg("pdk/go", "encoding/json", "pdk/go/internal"),
		pkg("sandbox/gate", "sandbox/capability", "runtime/abi"),
		pkg("runtime/engine", "github.com/tetratelabs/wazero", "runtime/abi"),
		pkg("runtime/reference", "github.com/extism/go-sdk"),
		pkg("host/api", "github.com/gofiber/fiber/v2", "host/turn"),
		pkg("host/store", "go.etcd.io/bbolt"),
		pkg("host/turn", "host/loop", "host/step"),
		{Path: "pdk/go", Name: "pdk", Documented: true,
			Imports: []string{"runtime", "unsafe"}}, // the standard library's
		pkg("host/toolrunner", "fmt"), // a longer name is not below a shorter one
	} {
		if found := Check([]Package{p}); len(found) != 0 {
			t.Errorf("%v", found)
		}
	}
}

func TestIndirectImportsAreFound(t *testing.T) {
	found := Check([]Package{pkg("host/step", "host/salvage"), pkg("host/salvage", "host/cite"),
		pkg("host/cite", "host/loop"), pkg("host/loop")})
	if len(found) != 1 || !strings.HasPrefix(found[0], "host/step imports host/loop: ") {
		t.Fatalf("found %q", found)
	}
}

func TestPackagesNeedACommentAndAName(t *testing.T) {
	bare := pkg("host/loop")
	bare.Documented = false
	tests := bare
	tests.OnlyTests = true
	found := Check([]Package{bare, tests, pkg("host/util")})
	if len(found) != 2 || found[0] != "host/loop has no package comment" ||
		!strings.HasPrefix(found[1], "host/util: the name") {
		t.Fatalf("found %q", found)
	}
}

func TestLoadReadsEveryFile(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a.go":                "package a\n\nimport \"fmt\"\n",
		"a/doc.go":              "// Package a is documented here.\npackage a\n",
		"a/a_test.go":           "package a_test\n\nimport \"go.etcd.io/bbolt\"\n",
		"a/other.go":            "//go:build plan9\n\npackage a\n\nimport \"os\"\n",
		"b/b.go":                "//go:build wasip1\n\npackage b\n",
		"c/c_test.go":           "package c\n",
		"a/testdata/x.go":       "package x\n\nimport \"bad\"\n",
		"web/node_modules/y.go": "not Go at all",
		".hidden/z.go":          "not Go either",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) != 3 {
		t.Fatalf("found %+v", packages)
	}
	a, b, c := packages[0], packages[1], packages[2]
	if strings.Join(a.Imports, " ") != "fmt go.etcd.io/bbolt os" || !a.Documented || a.OnlyTests || a.Name != "a" {
		t.Errorf("a is %+v", a)
	}
	if b.Documented {
		t.Errorf("a build tag was taken for a package comment: %+v", b)
	}
	if !c.OnlyTests {
		t.Errorf("c is %+v", c)
	}

	if err := os.WriteFile(filepath.Join(root, "b", "bad.go"), []byte("package"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(root); err == nil || !strings.Contains(err.Error(), "bad.go") {
		t.Errorf("a file that is not Go gives %v", err)
	}
}
