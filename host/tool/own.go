package tool

import "slices"

// The names of the loop's own tools, the only tools that the host knows by name.
// Their Spec has no Plugin. A plugin's tool of such a name is offered under
// another.
const (
	RecallResult  = "recall_result"
	FindTools     = "find_tools"
	Think         = "think"
	ResearchAgent = "research_agent"
)

// HostSource is the source of the loop's own tools in their identities. No plugin
// brings tools under it.
const HostSource = "host"

// Reserved tells whether name is that of a tool of the loop's own.
func Reserved(name string) bool { return slices.Contains(OwnNames(), name) }

// OwnNames are the names of the loop's own tools.
func OwnNames() []string { return []string{RecallResult, FindTools, Think, ResearchAgent} }

// OwnID is the identity of a tool of the loop's own, such as host/think.
func OwnID(name string) string { return ID(HostSource, name) }
