package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestPageHasTheCodes fails when the page's catalogue is not the one that the
// Go list makes.
func TestPageHasTheCodes(t *testing.T) {
	made := filepath.Join(t.TempDir(), "codes.json")
	if err := run([]string{made}); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../web/src/lib/codes.json")
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("web/src/lib/codes.json is not what host/packet/code.go says (%v); run: go run "+
			"./host/packet/gencodes web/src/lib/codes.json", err)
	}
}

func TestOneArgument(t *testing.T) {
	for _, args := range [][]string{nil, {"a", "b"}} {
		if err := run(args); err == nil {
			t.Errorf("run(%q) does not fail", args)
		}
	}
}
