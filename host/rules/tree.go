package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// topLevel are the names that may stand at the root, beside dot-files.
var topLevel = []string{"host", "runtime", "sandbox", "plugins", "pdk", "web",
	"go.mod", "go.sum", "Taskfile.yml", "README.md", "LICENSE", "CONTRIBUTING.md"}

// CheckTopLevel returns a sentence for each name that may not stand at the root.
// names are those of the files and folders there that belong to the repository.
func CheckTopLevel(names []string) []string {
	var broken []string
	for _, name := range names {
		if !strings.HasPrefix(name, ".") && !slices.Contains(topLevel, name) {
			broken = append(broken, fmt.Sprintf("%s may not stand at the top level", name))
		}
	}
	return broken
}

// homes are folders of one person on one machine.
var homes = regexp.MustCompile(`(^|[^A-Za-z0-9_.])(/home/|/Users/|[A-Z]:\\Users\\)[A-Za-z0-9_.-]+[/\\]`)

// registries are hosts that packages come from. A lock file or a script that
// names one breaks where there is a mirror or no internet. The names are put
// together here so that this file does not hold them.
var registries = []string{"registry." + "npmjs.org", "registry." + "yarnpkg.com", "npm." + "pkg.github.com",
	"proxy." + "golang.org", "sum." + "golang.org", "files." + "pythonhosted.org"}

// CheckText returns a sentence for each line of a file that holds a path of one
// machine or the host of a package registry. folders are such paths, as the
// place of the checkout and the person's home.
func CheckText(name, text string, folders []string) []string {
	var broken []string
	for i, line := range strings.Split(text, "\n") {
		if found := homes.FindString(line); found != "" {
			broken = append(broken, fmt.Sprintf("%s:%d holds the path of a machine: %s", name, i+1,
				strings.TrimSpace(found)))
		}
		for _, folder := range folders {
			if holdsPath(line, folder) {
				broken = append(broken, fmt.Sprintf("%s:%d holds the path of this machine: %s", name, i+1, folder))
			}
		}
		for _, host := range registries {
			if strings.Contains(line, host) {
				broken = append(broken, fmt.Sprintf("%s:%d names the package registry %s", name, i+1, host))
			}
		}
	}
	return broken
}

// holdsPath tells whether line has folder as the beginning of a path.
func holdsPath(line, folder string) bool {
	for rest := line; ; {
		before, after, found := strings.Cut(rest, folder)
		if !found {
			return false
		}
		inWord := before != "" && isPathByte(before[len(before)-1])
		longer := after != "" && after[0] != '/' && isPathByte(after[0])
		if !inWord && !longer {
			return true
		}
		rest = after
	}
}

func isPathByte(b byte) bool {
	return b == '/' || b == '.' || b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' &&
		b <= 'Z'
}
