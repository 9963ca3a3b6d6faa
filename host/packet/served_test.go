package packet

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// made is a payload where it is made: packet.Notice{, packet.Notice( or
// packet.NewNotice(.
var made = regexp.MustCompile(`\bpacket\.(?:New)?(\w+)[{(]`)

// TestServedTypesAreThoseThatSomebodyMakes looks for who makes each payload. Tests and
// what only they import do not count, nor does the repair of a log (host/journal), which closes what
// stands open in it.
func TestServedTypesAreThoseThatSomebodyMakes(t *testing.T) {
	makers := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "packet" || entry.Name() == "llmtest" || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || entry.Name() == "unfinished.go" {
			return nil
		}
		data, err := os.ReadFile(path)
		for _, m := range made.FindAllSubmatch(data, -1) {
			makers[string(m[1])] = append(makers[string(m[1])], path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range types {
		found := slices.Compact(makers[k.goName])
		if k.served && found == nil {
			t.Errorf("nothing makes a %s; register %s as a later one", name, k.goName)
		}
		if !k.served && found != nil {
			t.Errorf("%v make a %s, so %s is no later one", found, name, k.goName)
		}
	}
}
