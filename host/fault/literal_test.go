package fault

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// answering are the packages that make what a client is told.
var answering = []string{"api", "app", "cli", "turn"}

// harmless are the statuses that tell of no fault.
var harmless = []string{"StatusOK", "StatusCreated", "StatusAccepted", "StatusNoContent", "StatusPartialContent",
	"StatusSeeOther", "StatusNotModified"}

// read are the functions that read another server's status.
var read = []string{"offersFault"}

func TestNoCodeOrStatusStandsOutsideTheCatalogue(t *testing.T) {
	for _, folder := range answering {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				for _, found := range literals(t, name, nil) {
					t.Error(found)
				}
			}
		}
	}
}

// TestLiteralsAreFound shows that the test above can fail.
func TestLiteralsAreFound(t *testing.T) {
	source := `package p
import ("fiber"; web "net/http")
func f() { g("busy", fiber.ErrNotFound, fiber.NewError(1), web.StatusTeapot, web.StatusOK, packet.Code("x"), "a busy day", 404) }
type s struct { A string ` + "`json:\"full\"`" + ` }
func offersFault() { _ = web.StatusForbidden }
`
	if found := literals(t, "p.go", source); len(found) != 5 {
		t.Errorf("found %q", found)
	}
}

// literals returns a sentence for each code or status that a file writes itself.
// source is what the file holds, nil for what the disk has.
func literals(t *testing.T, name string, source any) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	libraries := map[string]bool{"fiber": true, "http": true, "fasthttp": true, "websocket": true}
	for _, i := range file.Imports {
		if i.Name != nil {
			path, _ := strconv.Unquote(i.Path.Value) // the parser has read it
			if libraries[filepath.Base(path)] {
				libraries[i.Name.Name] = true
			}
		}
	}
	var found []string
	tell := func(at token.Pos, what string) {
		found = append(found, set.Position(at).String()+": "+what+" stands outside host/fault")
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return !slices.Contains(read, n.Name.Name)
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if _, code := Codes[Code(text)]; err == nil && n.Kind == token.STRING && code {
				tell(n.Pos(), n.Value)
			}
			if n.Kind == token.INT && len(n.Value) == 3 && (n.Value[0] == '4' || n.Value[0] == '5') &&
				statuses[n.Value] {
				tell(n.Pos(), n.Value)
			}
		case *ast.SelectorExpr:
			from, ok := n.X.(*ast.Ident)
			if !ok || !libraries[from.Name] {
				return true
			}
			word := n.Sel.Name
			if word == "NewError" || from.Name == "fiber" && strings.HasPrefix(word, "Err") && word != "Error" ||
				strings.HasPrefix(word, "Status") && word != "StatusCode" && word != "StatusText" &&
					!slices.Contains(harmless, word) {
				tell(n.Pos(), from.Name+"."+word)
			}
		}
		return true
	})
	return found
}

// TestEachCodeIsGiven fails on a code that no room uses any more.
func TestEachCodeIsGiven(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`\bfault\.(\w+)`).FindAllSubmatch(data, -1) {
			used[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
				named++
				if name := spec.Names[0].Name; !used[name] {
					t.Errorf("%s is given nowhere", name)
				}
			}
		}
		return true
	})
	if named != len(Codes) {
		t.Errorf("%d codes have a name, %d stand in the list", named, len(Codes))
	}
}

// statuses are those of the catalogue, as they are written.
var statuses = func() map[string]bool {
	out := map[string]bool{}
	for _, info := range Codes {
		out[strconv.Itoa(info.Status)] = true
	}
	return out
}()
