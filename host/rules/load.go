package rules

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Load reads the package clauses, imports and package comments of all Go files
// below root, whatever their build tags, except in hidden folders, testdata and
// node_modules. Packages come sorted by path. The error names the file that
// could not be read.
func Load(root string) ([]Package, error) {
	byPath := map[string]*Package{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path != root && skipped(entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		p := byPath[folder]
		if p == nil {
			p = &Package{Path: folder, OnlyTests: true}
			byPath[folder] = p
		}
		return p.add(path)
	})
	if err != nil {
		return nil, fmt.Errorf("read the packages of %s: %w", root, err)
	}
	var packages []Package
	for _, p := range byPath {
		slices.Sort(p.Imports)
		p.Imports = slices.Compact(p.Imports)
		packages = append(packages, *p)
	}
	slices.SortFunc(packages, func(a, b Package) int { return strings.Compare(a.Path, b.Path) })
	return packages, nil
}

func skipped(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "testdata" || folder == "node_modules"
}

// add reads one file into p.
func (p *Package) add(path string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		p.Imports = append(p.Imports, imported)
	}
	if strings.HasSuffix(path, "_test.go") {
		return nil
	}
	p.OnlyTests = false
	p.Name = file.Name.Name
	p.Documented = p.Documented || (file.Doc != nil && strings.TrimSpace(file.Doc.Text()) != "")
	return nil
}
