package toolset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

const (
	// maxName is how long a name may be for every provider of models.
	maxName = 64
	// maxKept is how many names of one provider are kept, with those of tools that it
	// does not list any more. No provider lists as many.
	maxKept = 1024
)

// names are the names that were dealt, by identity.
type names map[string]string

func (n names) clone() names { return maps.Clone(n) }

func (n names) changed(added names, gone []string) names {
	next := n.clone()
	for _, id := range gone {
		delete(next, id)
	}
	maps.Copy(next, added)
	return next
}

// deal gives a name to each tool that has none and is not held. What has a name keeps
// it. Of the others the tools that came with the host come first, then those that were
// installed earlier, and all plain names are dealt before a sanitised one, all
// sanitised ones before the first with its provider in front. gone are the names that
// are given up for it. kept are names for tools that came with the host only.
func (n names) deal(entries []Entry, kept []string) (added names, gone []string) {
	fresh := slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Held || n[e.ID()] != "" })
	if len(fresh) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(fresh, func(a, b Entry) int {
		if a.Builtin != b.Builtin {
			return map[bool]int{true: -1, false: 1}[a.Builtin]
		}
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Provider, b.Provider))
	})
	gone = n.excess(entries, fresh)
	left := n.changed(nil, gone)
	d := dealer{taken: map[string]bool{}, kept: map[string]bool{}, names: names{}}
	for _, name := range left {
		d.taken[folded(name)] = true
	}
	for _, name := range tool.OwnNames() {
		d.taken[folded(name)] = true
	}
	for _, name := range kept {
		d.kept[folded(name)] = true
	}
	for _, e := range fresh {
		if sanitise(e.Name) == e.Name {
			d.offer(e, e.Name)
		}
	}
	for _, e := range fresh {
		d.offer(e, sanitise(e.Name))
	}
	for _, e := range fresh {
		d.offer(e, sanitise(e.Provider+"_"+e.Name))
	}
	for _, e := range fresh {
		for i := 2; d.names[e.ID()] == ""; i++ {
			suffix := fmt.Sprintf("_%d", i)
			name := sanitise(e.Provider + "_" + e.Name)
			d.offer(e, name[:min(len(name), maxName-len(suffix))]+suffix)
		}
	}
	return d.names, gone
}

// excess are identities to give up, so that no provider has more than maxKept names:
// those of tools that it does not list.
func (n names) excess(entries, fresh []Entry) (gone []string) {
	more := map[string]int{}
	for _, e := range fresh {
		more[e.Provider]++
	}
	listed := map[string]bool{}
	for _, e := range entries {
		listed[e.ID()] = true
	}
	old := map[string][]string{}
	have := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(n)) {
		provider, _, _ := strings.Cut(id, "/")
		have[provider]++
		if !listed[id] {
			old[provider] = append(old[provider], id)
		}
	}
	for provider, count := range more {
		over := max(0, have[provider]+count-maxKept)
		gone = append(gone, old[provider][:min(over, len(old[provider]))]...)
	}
	return gone
}

// dealer deals names to tools that have none.
type dealer struct {
	// taken are the names that nobody can have any more, kept those that only tools
	// which came with the host can have; both folded.
	taken, kept map[string]bool
	names       names
}

// offer gives a tool a name, if it has none and the name can be had.
func (d *dealer) offer(e Entry, name string) {
	key := folded(name)
	if d.names[e.ID()] != "" || d.taken[key] || d.kept[key] && !e.Builtin {
		return
	}
	d.taken[key] = true
	d.names[e.ID()] = name
}

// folded is a name without what models get wrong in it: case, and - for _. Names that
// differ in nothing else would be taken for each other.
func folded(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "_")) }

// sanitise keeps letters, digits, _ and - of a name, up to maxName.
func sanitise(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if clean == "" {
		clean = "tool"
	}
	return clean[:min(len(clean), maxName)]
}
