package plugin

import (
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

// maxToolName is how long a name may be for every provider of models.
const maxToolName = 64

// toolKey names a tool by its plugin and its own name.
type toolKey struct{ plugin, tool string }

// exposedNames gives each tool the name that a model calls it by: its own,
// sanitised; where two plugins have the same, or the loop has one of that name,
// {plugin}_{tool}. The same set of plugins always gives the same names.
func exposedNames(plugins []*installed) map[toolKey]string {
	count := map[string]int{}
	for _, p := range plugins {
		for _, l := range p.catalogue.Load().listed {
			count[sanitise(l.Name)]++
		}
	}
	names, taken := map[toolKey]string{}, map[string]bool{}
	for _, p := range plugins {
		for _, l := range p.catalogue.Load().listed {
			name := sanitise(l.Name)
			if count[name] > 1 || tool.Reserved(name) {
				name = sanitise(p.record.Name + "_" + l.Name)
			}
			for n := 2; taken[name] || tool.Reserved(name); n++ {
				suffix := fmt.Sprintf("_%d", n)
				name = name[:min(len(name), maxToolName-len(suffix))] + suffix
			}
			taken[name] = true
			names[toolKey{p.record.Name, l.Name}] = name
		}
	}
	return names
}

// sanitise keeps letters, digits, _ and - of a name, up to maxToolName.
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
	return clean[:min(len(clean), maxToolName)]
}
