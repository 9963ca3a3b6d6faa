package main

import (
	"debug/elf"
	"errors"
	"io/fs"
	"runtime"
	"testing"
)

// TestTheBinaryIsStatic reads the binary that was built last: it needs no loader and no
// library of the machine that it runs on.
func TestTheBinaryIsStatic(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has ELF binaries")
	}
	f, err := elf.Open("../../../bin/bulkhead")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("bin/bulkhead is not built; task build makes it")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("it has a segment %v", p.Type)
		}
	}
	if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 {
		t.Errorf("it needs %q", libraries)
	}
}
