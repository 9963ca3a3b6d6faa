package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPackagesAndTypesKeepTheirSize(t *testing.T) {
	broken, err := CheckSize(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range broken {
		t.Error(sentence)
	}
}

func TestWhatIsTooLargeIsFound(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range sized {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := "package loop\n\ntype walker struct{}\n\ntype list[T any] struct{}\n\nfunc (l *list[T]) a() {}\n\n" +
		strings.Repeat("func (w *walker) a() {}\n", maxMethods+1) + strings.Repeat("\n", maxLines)
	for name, data := range map[string]string{"loop.go": text, "loop_test.go": strings.Repeat("\n", maxLines)} {
		if err := os.WriteFile(filepath.Join(dir, "host/loop", name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	broken, err := CheckSize(dir)
	if err != nil || len(broken) != 2 || broken[0] != "host/loop has 3049 lines, more than 3000" ||
		broken[1] != "host/loop.walker has 41 methods, more than 40" {
		t.Errorf("found %q, %v", broken, err)
	}
}
