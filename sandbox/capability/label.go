package capability

import "slices"

// The labels of a tool: what it touches.
const (
	LabelPrivateData      = "private_data"
	LabelUntrustedContent = "untrusted_content"
	LabelEgress           = "egress"
	LabelWrites           = "writes"
)

// AllLabels returns the four labels. The slice is the caller's.
func AllLabels() []string {
	return []string{LabelPrivateData, LabelUntrustedContent, LabelEgress, LabelWrites}
}

// Surroundings are what labels depend on beyond manifest and grants. The zero
// value assumes the worst.
type Surroundings struct {
	// LocalModel tells whether all models of names run on this machine, nil names
	// standing for every model; a nil function for none.
	LocalModel func(names []string) bool
	// LocalImage tells that what makes images runs on this machine.
	LocalImage bool
	// PublicCollection tells whether a knowledge collection is marked as not
	// private; nil for none.
	PublicCollection func(name string) bool
	// ToolLabels returns the labels of the tool behind an alias; nil for all four.
	ToolLabels func(alias string) []string
}

// ToolLabels returns the labels of a tool in the order of AllLabels: those that
// its entry declares and those that the rights imply. A tool without any right
// has none.
func ToolLabels(e ToolEntry, rights Rights, s Surroundings) []string {
	found := map[string]bool{}
	held := false
	for _, r := range rights {
		if r.Mode == Deny {
			continue
		}
		held = true
		for _, l := range implied(r, e, s) {
			found[l] = true
		}
	}
	if !held {
		return nil
	}
	for _, l := range e.Labels {
		found[l] = true
	}
	return slices.DeleteFunc(AllLabels(), func(l string) bool { return !found[l] })
}

func implied(r Right, e ToolEntry, s Surroundings) []string {
	switch p := r.Params.(type) {
	case *HTTPParams:
		labels := []string{LabelEgress, LabelUntrustedContent}
		if !p.ReadsOnly() {
			labels = append(labels, LabelWrites)
		}
		return labels
	case *ContextParams:
		if p.Has("history") && slices.Contains(e.Needs, "history") {
			return []string{LabelPrivateData}
		}
	case *KnowledgeParams:
		if !allPublic(p, s) {
			return []string{LabelPrivateData}
		}
	case *MemoryParams:
		return withWrites(p.Access)
	case *FilesParams:
		return withWrites(p.Access)
	case *ModelParams:
		if s.LocalModel == nil || !s.LocalModel(p.Names()) {
			return []string{LabelEgress}
		}
	case *ImageParams:
		if !s.LocalImage {
			return []string{LabelEgress}
		}
	case *MCPParams:
		return AllLabels()
	case *ToolsParams:
		return targetLabels(p, s)
	}
	return nil
}

func withWrites(access Set) []string {
	if access.has("write") {
		return []string{LabelPrivateData, LabelWrites}
	}
	return []string{LabelPrivateData}
}

func allPublic(p *KnowledgeParams, s Surroundings) bool {
	if p.All() || s.PublicCollection == nil {
		return false
	}
	return !slices.ContainsFunc(p.Collections, func(c string) bool { return !s.PublicCollection(c) })
}

func targetLabels(p *ToolsParams, s Surroundings) []string {
	if p.Aliases.any() || s.ToolLabels == nil {
		return AllLabels()
	}
	var labels []string
	for _, alias := range p.Aliases {
		labels = append(labels, s.ToolLabels(alias)...)
	}
	return labels
}
