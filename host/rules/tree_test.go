package rules

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// tracked returns the files of the repository, relative to its root.
func tracked(t *testing.T) []string {
	t.Helper()
	list, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v; this test reads the files that git tracks", err)
	}
	files := strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00")
	if len(files) < 10 {
		t.Fatalf("git tracks only %q", files)
	}
	return files
}

func TestTopLevelHoldsOnlyTheRooms(t *testing.T) {
	var names []string
	for _, file := range tracked(t) {
		top, _, _ := strings.Cut(file, "/")
		names = append(names, top)
	}
	for _, sentence := range CheckTopLevel(names) {
		t.Error(sentence)
	}
}

func TestNoFileNamesAMachineOrARegistry(t *testing.T) {
	folders := machineFolders(t)
	for _, file := range tracked(t) {
		text, err := os.ReadFile(filepath.Join(root, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue // not text
		}
		for _, sentence := range CheckText(file, string(text), folders) {
			t.Error(sentence)
		}
	}
}

// machineFolders returns the checkout's place, its parent and the home folder,
// where they are long enough to mean something.
func machineFolders(t *testing.T) []string {
	t.Helper()
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	if strings.Count(checkout, string(filepath.Separator)) >= 2 {
		folders = append(folders, checkout)
	}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		folders = append(folders, home)
	}
	return folders
}

func TestStrangersAtTheTopLevelAreFound(t *testing.T) {
	found := CheckTopLevel([]string{"host", "web", ".ci", ".gitignore", "LICENSE", "internal", "Makefile"})
	if len(found) != 2 || !strings.HasPrefix(found[0], "internal ") || !strings.HasPrefix(found[1], "Makefile ") {
		t.Fatalf("found %q", found)
	}
}

func TestMachinePathsAndRegistriesAreFound(t *testing.T) {
	folders := []string{"/srv/ada/bulkhead", "/ada"}
	for _, line := range []string{
		"see /srv/ada/bulkhead/README.md",
		`"/srv/ada/bulkhead"`,
		"cd /srv/ada/bulkheads && ls /srv/ada/bulkhead",
		"in (/ada/.config)",
		"/ho" + "me/ada/notes.md",
		"open /Us" + "ers/ada/notes.md",
		`C:\Us` + `ers\ada\notes.md`,
		`"resolved": "https://registry.` + `npmjs.org/x.tgz"`,
		"GOPROXY=https://proxy." + "golang.org",
	} {
		if len(CheckText("a.md", "fine\n"+line, folders)) != 1 {
			t.Errorf("found %q in %q", CheckText("a.md", "fine\n"+line, folders), line)
		}
	}
	for _, line := range []string{
		"a path such as /var/lib/bulkhead or ~/documents",
		"/srv/ada/bulkhead2/x and /x/srv/ada/bulkhead",
		"https://example.org/home/page and GET /home/",
		"https://example.org/ada/x",
		"npm ci",
	} {
		if found := CheckText("a.md", line, folders); len(found) != 0 {
			t.Errorf("%q gives %q", line, found)
		}
	}
}
