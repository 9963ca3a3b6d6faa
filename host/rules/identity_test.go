package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestOnlyAccountsBecomePrincipals looks for every place that makes an identity.Principal.
// An account becomes one in host/store, which knows its roles; the host acts by itself or for
// a user with a reason that stands in the source; and nobody writes one down as a literal.
func TestOnlyAccountsBecomePrincipals(t *testing.T) {
	found := 0
	for _, room := range []string{"host", "runtime", "sandbox"} {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && skipped(entry.Name()) {
				return filepath.SkipDir
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			n, sentences := principals(filepath.ToSlash(name), file)
			found += n
			for _, sentence := range sentences {
				t.Error(sentence)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no principal is made anywhere; the test reads the wrong folder")
	}
}

// principals counts the places in a file that make a principal, and says what is wrong.
func principals(name string, file *ast.File) (found int, wrong []string) {
	if within(name, "host/identity") {
		return 0, nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if ofIdentity(n.Type) == "Principal" {
				wrong = append(wrong, name+" makes a Principal by a literal: only host/identity makes one")
			}
		case *ast.CallExpr:
			called := ofIdentity(n.Fun)
			switch called {
			case "New":
				found++
				if !within(name, "host/store/user.go") {
					wrong = append(wrong, name+" calls identity.New: only User.Principal of host/store makes a user's")
				}
			case "ForHost", "ForUser":
				found++
				if !reasoned(n.Args) {
					wrong = append(wrong, name+" calls identity."+called+" without a reason that stands there")
				}
			}
		}
		return true
	})
	return found, wrong
}

// ofIdentity is what an expression names in package identity, "" for nothing there.
func ofIdentity(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if pkg, ok := s.X.(*ast.Ident); !ok || pkg.Name != "identity" {
		return ""
	}
	return s.Sel.Name
}

// reasoned tells whether the last argument is a text of more than one word.
func reasoned(args []ast.Expr) bool {
	if len(args) == 0 {
		return false
	}
	literal, ok := args[len(args)-1].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return false
	}
	text, err := strconv.Unquote(literal.Value)
	return err == nil && len(strings.Fields(text)) > 1
}

func TestMadeUpPrincipalsAreFound(t *testing.T) {
	for source, wrong := range map[string]int{
		`identity.Principal{}`:                                1,
		`identity.New(identity.Account{ID: "u"}, "cookie")`:   1,
		`identity.ForHost("")`:                                1,
		`identity.ForUser(user, reason)`:                      1,
		`identity.ForUser(user, "recover a run")`:             0,
		`other.Principal{}`:                                   0,
		`func(p identity.Principal) bool { return p.Owns(x)}`: 0,
	} {
		source := "package x\n\nvar _ = " + source
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := principals("host/api/x.go", file); len(got) != wrong {
			t.Errorf("%s: %q", source, got)
		}
	}
}
