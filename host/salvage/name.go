package salvage

import "strings"

// Resolve returns the name of the tool that a model means by one that it wrote into its
// own channel for calls: the name as it stands if there is such a tool, else without
// what models and their servers add to it (functions.search, search:0,
// search<|channel|>json), else the one tool whose name differs in case and in dashes
// only. It returns false where no tool, or more than one, may be meant.
func Resolve(names []string, name string) (string, bool) {
	set := &toolset{names: make(map[string]schema, len(names))}
	for _, n := range names {
		set.names[n] = schema{}
	}
	plain, _, _ := strings.Cut(name, "<|")
	plain = set.resolve(strings.TrimSuffix(strings.TrimSpace(plain), "()"))
	if set.listed(plain) {
		return plain, true
	}
	meant, found := "", 0
	for known := range set.names {
		if folded(known) == folded(plain) {
			meant = known
			found++
		}
	}
	return meant, found == 1
}

// folded is a name without regard to case and to the kind of its dashes.
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "_", " ", "_", ".", "_").Replace(name))
}
