package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestPageHasTheProviders fails when the page's catalogue is not the one that the
// Go list makes.
func TestPageHasTheProviders(t *testing.T) {
	made := filepath.Join(t.TempDir(), "providers.json")
	if err := run([]string{made}); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../../web/src/lib/providers.json")
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("web/src/lib/providers.json is not what host/llm/provider/provider.go says (%v); run: go run "+
			"./host/llm/provider/genproviders web/src/lib/providers.json", err)
	}
}

func TestOneArgument(t *testing.T) {
	for _, args := range [][]string{nil, {"a", "b"}} {
		if err := run(args); err == nil {
			t.Errorf("run(%q) does not fail", args)
		}
	}
}
