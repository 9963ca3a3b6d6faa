package event

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPublishedTopicsAreThoseThatSomebodyPublishes looks for who names each topic, and
// for topics that are written out.
func TestPublishedTopicsAreThoseThatSomebodyPublishes(t *testing.T) {
	named := regexp.MustCompile(`\bTopic([A-Z]\w+)`)
	written := regexp.MustCompile(`(?:Topic: |publish\(who, )"`)
	found := map[Topic]bool{}
	for _, folder := range []string{"..", "../ask", "../rest", "../../app"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "topic.go" {
				continue
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if written.Match(data) {
				t.Errorf("%s writes a topic out", name)
			}
			for _, m := range named.FindAllSubmatch(data, -1) {
				found[Topic(strings.ToLower(string(m[1])))] = true
			}
		}
	}
	for topic, published := range topics {
		if found[topic] != published {
			t.Errorf("%s: published %v, marked %v", topic, found[topic], published)
		}
	}
	for topic := range found {
		if _, known := topics[topic]; !known {
			t.Errorf("%s is not among the topics", topic)
		}
	}
}
