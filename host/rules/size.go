package rules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The bounds of what a reader can keep in mind. Tests do not count.
const (
	maxLines   = 3000
	maxMethods = 40
)

// sized are the folders whose packages keep the bounds.
var sized = []string{
	"host/api", "host/turn", "host/loop", "host/plugin", "host/guest", "host/hostfunc", "host/plugintool", "host/store",
}

// CheckSize returns a sentence for each package of sized, and each type in one, that is
// beyond its bound. The error names the file that could not be read.
func CheckSize(root string) ([]string, error) {
	sizes := map[string]int{} // lines by package, methods by package.Type
	for _, folder := range sized {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() {
				if skipped(entry.Name()) {
					return filepath.SkipDir
				}
				return nil
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			in, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return measure(sizes, filepath.ToSlash(in), source)
		})
		if err != nil {
			return nil, fmt.Errorf("measure packages: %w", err)
		}
	}
	var broken []string
	for name, size := range sizes {
		most, what := maxLines, "lines"
		if strings.Contains(name, ".") {
			most, what = maxMethods, "methods"
		}
		if size > most {
			broken = append(broken, fmt.Sprintf("%s has %d %s, more than %d", name, size, what, most))
		}
	}
	slices.Sort(broken)
	return broken, nil
}

// measure adds the lines and methods of one file of a package.
func measure(sizes map[string]int, in string, source []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), in, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	sizes[in] += strings.Count(string(source), "\n")
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		of := f.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		if generic, ok := of.(*ast.IndexExpr); ok {
			of = generic.X
		}
		if name, ok := of.(*ast.Ident); ok {
			sizes[in+"."+name.Name]++
		}
	}
	return nil
}
