// Package rules says which package may know which, and finds imports that break
// it. Its test runs over this repository.
//
// What comes in is the source tree, or packages made up by a test; what goes
// out are sentences, one for each broken rule. The rules are those of
// host/RATIONALE.md ("Who may know whom?") as data, so that a reader sees them
// at once; which library belongs to which provider is host/llm/provider's to say, the
// only package of a room that is imported here.
package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// Module is the import path of the root module.
const Module = "github.com/bulkhead-host/bulkhead"

// Package is what is known of one Go package.
type Package struct {
	// Path is the folder, relative to the root, with slashes; "." for the root.
	Path string
	// Name is the name in the package clause.
	Name string
	// Imports are the import paths of all its files, tests too.
	Imports []string
	// Documented tells that a file of it carries a package comment.
	Documented bool
	// OnlyTests tells that it has no file but tests.
	OnlyTests bool
}

// A boundary forbids imports across it. A pattern is a path relative to the
// module, or a foreign import path, and stands for all below it; with "=" in
// front it stands for itself only.
type boundary struct {
	sentence string
	// inside are the packages that the boundary binds; nil binds all but those
	// of except.
	inside, except []string
	// forbid are the imports that it forbids, allow those let through.
	forbid, allow []string
	// deep binds what is imported indirectly too.
	deep bool
}

var rooms = []string{"host", "runtime", "sandbox", "plugins", "pdk", "web"}

var boundaries = []boundary{
	{sentence: "runtime imports no room", inside: []string{"runtime"}, forbid: rooms, allow: []string{"runtime"}},
	{sentence: "sandbox never imports host, plugins, pdk or web", inside: []string{"sandbox"},
		forbid: []string{"host", "plugins", "pdk", "web"}},
	{sentence: "sandbox imports only runtime's plain types, not what runs or installs modules",
		inside: []string{"sandbox"},
		forbid: []string{"runtime/engine", "runtime/registry", "runtime/reference"}},
	{sentence: "plugins import no room but pdk, and how text is read", inside: []string{"plugins"}, forbid: rooms,
		allow: []string{"plugins", "pdk", "host/text"}},
	{sentence: "text imports no room: plugins compile it too", inside: []string{"host/text"}, forbid: rooms,
		allow: []string{"host/text"}},
	{sentence: "pdk imports no room", inside: []string{"pdk"}, forbid: rooms, allow: []string{"pdk"}},
	{sentence: "web imports no room", inside: []string{"web"}, forbid: rooms, allow: []string{"web"}},
	{sentence: "only plugins import pdk and each other; the host gets them as files",
		except: []string{"plugins", "pdk"},
		forbid: []string{"pdk", "plugins"}, allow: []string{"=plugins"}},

	{sentence: "packet imports nothing of host", inside: []string{"host/packet"}, forbid: rooms,
		allow: []string{"host/packet"}},
	{sentence: "packet itself needs none of its sub-packages", inside: []string{"=host/packet"},
		forbid: []string{"host"}},
	{sentence: "tool imports nothing of host", inside: []string{"host/tool"}, forbid: rooms,
		allow: []string{"host/tool"}},
	{sentence: "toolset knows tool and nothing else of host", inside: []string{"host/toolset"}, forbid: rooms,
		allow: []string{"host/toolset", "host/tool"}},
	{sentence: "identity imports nothing of host", inside: []string{"host/identity"},
		forbid: rooms, allow: []string{"host/identity"}},
	{sentence: "step does not know loop or turn", inside: []string{"host/step"},
		forbid: []string{"host/loop", "host/turn"}, deep: true},
	{sentence: "loop does not know turn", inside: []string{"host/loop"}, forbid: []string{"host/turn"}, deep: true},
	{sentence: "guest does not know what is installed, nor the author's tools", inside: []string{"host/guest"},
		forbid: []string{"host/plugin", "host/plugintool"}, deep: true},
	{sentence: "hostfunc does not know what asks it, nor how a module runs", inside: []string{"host/hostfunc"},
		forbid: []string{"host/guest", "host/plugin", "host/plugintool", "runtime/engine"}, deep: true},
	{sentence: "plugin does not know the author's tools", inside: []string{"host/plugin"},
		forbid: []string{"host/plugintool"}, deep: true},
	{sentence: "plugintool does not know what is installed", inside: []string{"host/plugintool"},
		forbid: []string{"host/plugin"}, deep: true},
	{sentence: "nothing below turn knows api", inside: []string{"host/turn", "host/loop", "host/step", "host/toolrun",
		"host/journal", "host/llm",
		"host/store", "host/knowledge"}, forbid: []string{"host/api"}, deep: true},

	{sentence: "config knows of models only what is set of one", inside: []string{"host/config"},
		forbid: []string{"host/llm"}, allow: []string{"host/llm/provider"}, deep: true},
	{sentence: "provider imports nothing of host", inside: []string{"host/llm/provider"}, forbid: rooms,
		allow: []string{"host/llm/provider"}},

	{sentence: "only api knows Fiber", except: []string{"host/api"},
		forbid: []string{"github.com/gofiber", "github.com/valyala/fasthttp"}},
	{sentence: "only store knows bbolt", except: []string{"host/store"}, forbid: []string{"go.etcd.io/bbolt"}},
	{sentence: "only runtime knows wazero", except: []string{"runtime"},
		forbid: []string{"github.com/tetratelabs/wazero"}},
	{sentence: "only runtime/reference knows extism/go-sdk", except: []string{"runtime/reference"},
		forbid: []string{"github.com/extism/go-sdk"}},
	{sentence: "only what compares with the reference imports runtime/reference",
		except: []string{"runtime/reference", "host/bench", "=host/plugintool"},
		forbid: []string{"runtime/reference"}},
	{sentence: "only the command line knows cobra", except: []string{"host/cmd", "host/cli", "host/app"},
		forbid: []string{"github.com/spf13/cobra"}},
}

// sdks are the boundaries of the providers' own libraries.
func sdks() []boundary {
	var out []boundary
	for _, p := range provider.All {
		if p.SDK != "" {
			out = append(out, boundary{sentence: "only a provider's adapter knows its SDK",
				except: []string{"host/llm/" + string(p.Name)}, forbid: []string{p.SDK}})
		}
	}
	return out
}

// vague are the package names that say nothing of what is in the package.
var vague = []string{"util", "utils", "common", "helper", "helpers", "types", "manager", "misc"}

// Check returns a sentence for each broken rule, in the order of packages.
func Check(packages []Package) []string {
	byPath := map[string]Package{}
	for _, p := range packages {
		byPath[p.Path] = p
	}
	var broken []string
	for _, p := range packages {
		broken = append(broken, checkImports(p, byPath)...)
		if !p.Documented && !p.OnlyTests {
			broken = append(broken, fmt.Sprintf("%s has no package comment", p.Path))
		}
		if slices.Contains(vague, p.Name) {
			broken = append(broken, fmt.Sprintf("%s: the name %q does not say what the package holds", p.Path, p.Name))
		}
	}
	return broken
}

func checkImports(p Package, byPath map[string]Package) []string {
	var broken []string
	for _, b := range slices.Concat(boundaries, sdks()) {
		if !b.binds(p.Path) {
			continue
		}
		imports := direct(p)
		if b.deep {
			imports = indirect(p, byPath)
		}
		for _, imported := range imports {
			if matches(imported, b.forbid) && !matches(imported, b.allow) {
				broken = append(broken, fmt.Sprintf("%s imports %s: %s", p.Path, imported, b.sentence))
			}
		}
	}
	if within(p.Path, "pdk/go") {
		for _, imported := range direct(p) {
			if !within(imported, "pdk/go") {
				broken = append(broken, fmt.Sprintf("%s imports %s: pdk/go has no dependency", p.Path, imported))
			}
		}
	}
	return broken
}

// binds tells whether the boundary holds for the package at path.
func (b boundary) binds(path string) bool {
	if b.inside != nil {
		return matches(path, b.inside)
	}
	return !matches(path, b.except)
}

// direct returns p's imports, those of this repository relative to it. The
// standard library is left out: no rule is about it, and it has a package
// runtime too.
func direct(p Package) []string {
	var out []string
	for _, path := range p.Imports {
		first, _, _ := strings.Cut(path, "/")
		if strings.Contains(first, ".") {
			out = append(out, strings.TrimPrefix(path, Module+"/"))
		}
	}
	return out
}

// indirect returns all that p imports, however deep, in a stable order. What
// the tests on the way import counts too.
func indirect(p Package, byPath map[string]Package) []string {
	seen := map[string]bool{}
	var visit func(Package)
	visit = func(p Package) {
		for _, path := range direct(p) {
			if !seen[path] {
				seen[path] = true
				visit(byPath[path])
			}
		}
	}
	visit(p)
	var out []string
	for path := range seen {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

func matches(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if exact, ok := strings.CutPrefix(pattern, "="); ok {
			return path == exact
		}
		return within(path, pattern)
	})
}

// within tells whether path is parent or lies below it.
func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}
