package gather_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/knowledge/extract"
	"github.com/bulkhead-host/bulkhead/host/knowledge/gather"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// walk returns what came, relative to dir: documents as they are, errors with a
// leading "!".
func walk(t *testing.T, dir string, paths ...string) (got []string, errs map[string]error) {
	t.Helper()
	errs = map[string]error{}
	for src, err := range gather.Walk(paths) {
		rel, rerr := filepath.Rel(dir, src.URI)
		if rerr != nil {
			t.Fatal(rerr)
		}
		rel = filepath.ToSlash(rel)
		if err != nil {
			var fe *gather.FileError
			if !errors.As(err, &fe) || fe.Path != src.URI {
				t.Fatalf("%s: untyped error %v", rel, err)
			}
			got = append(got, "!"+rel)
			errs[rel] = err
			continue
		}
		if src.Name != filepath.Base(src.URI) || src.ModTime.IsZero() {
			t.Fatalf("source %+v", src)
		}
		got = append(got, rel)
	}
	return got, errs
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWalkTakesDocumentsInOrderAndReportsTheRest(t *testing.T) {
	dir := realDir(t)
	write(t, dir, map[string]string{
		"b.md": "b", "a.html": "a", "sub/z.txt": "z", "sub/a/x.markdown": "x", "sub/main.go": "package x",
		"pic.png":                  "\x89PNG",
		"node_modules/p/readme.md": "no", "dist/out.md": "no", ".git/config.md": "no", ".hidden.md": "no",
		"README": "no",
	})
	outside := realDir(t)
	write(t, outside, map[string]string{"secret.md": "secret"})
	for link, target := range map[string]string{"link.md": filepath.Join(outside, "secret.md"), "linked": outside,
		"sub/loop": dir, "broken.md": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	got, errs := walk(t, dir, dir)
	want := "!README a.html b.md !broken.md !link.md !linked !pic.png sub/a/x.markdown !sub/loop !sub/main.go sub/z.txt"
	if s := strings.Join(got, " "); s != want {
		t.Fatalf("got  %s\nwant %s", s, want)
	}
	for name, err := range errs {
		if !errors.Is(err, gather.ErrSkipped) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGivenPathsAreTakenOnceAndTheirFaultsAreNotSkips(t *testing.T) {
	dir := realDir(t)
	write(t, dir, map[string]string{"dist/a.md": "a", "b.md": "b", "c.pdf": "c",
		"big.txt": strings.Repeat("x", extract.MaxBytes+1)})
	if err := os.Symlink(filepath.Join(dir, "b.md"), filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	got, errs := walk(t, dir, filepath.Join(dir, "link.md"), filepath.Join(dir, "b.md"), filepath.Join(dir, "dist"),
		filepath.Join(dir, "c.pdf"), filepath.Join(dir, "none.md"), filepath.Join(dir, "big.txt"),
		filepath.Join(dir, "dist", "..", "b.md"))
	if s, want := strings.Join(got, " "), "b.md dist/a.md !c.pdf !none.md !big.txt"; s != want {
		t.Fatalf("got %s, want %s", s, want)
	}
	for name, want := range map[string]error{"c.pdf": extract.ErrUnsupportedType, "none.md": fs.ErrNotExist,
		"big.txt": extract.ErrTooLarge} {
		if !errors.Is(errs[name], want) || errors.Is(errs[name], gather.ErrSkipped) {
			t.Errorf("%s: %v, want %v", name, errs[name], want)
		}
	}
}

func TestWalkEndsWhenTheReaderDoes(t *testing.T) {
	dir := realDir(t)
	write(t, dir, map[string]string{"a.md": "a", "b.md": "b", "c/d.md": "d"})
	n := 0
	for range gather.Walk([]string{dir, dir}) {
		n++
		break
	}
	if n != 1 {
		t.Fatalf("%d", n)
	}
}
