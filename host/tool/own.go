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

// Reserved tells whether name is that of a tool of the loop's own.
func Reserved(name string) bool {
	return slices.Contains([]string{RecallResult, FindTools, Think, ResearchAgent}, name)
}
