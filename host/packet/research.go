package packet

// ResearchAgentStart says that an agent works inside a tool block, after its
// tool_args and before anything of the agent. The block's section_end closes it.
type ResearchAgentStart struct {
	ResearchTask string `json:"research_task"`
}

// Type implements Obj.
func (ResearchAgentStart) Type() string { return "research_agent_start" }

// IntermediateReportStart opens a block of an agent's own text.
type IntermediateReportStart struct{}

// Type implements Obj.
func (IntermediateReportStart) Type() string { return "intermediate_report_start" }

// IntermediateReportDelta is the next piece of an agent's text. A marker [[n]] in it
// holds the ref of a document that the block's IntermediateReportCitedDocs names: the
// answer's citation numbers count what the answer itself cites.
type IntermediateReportDelta struct {
	Content string `json:"content"`
}

// Type implements Obj.
func (IntermediateReportDelta) Type() string { return "intermediate_report_delta" }

// IntermediateReportCitedDocs names the documents that the block cites, in order of
// first use. It comes right before the block's end, and only where there are any.
type IntermediateReportCitedDocs struct {
	Documents []Document `json:"documents"`
}

// Type implements Obj.
func (IntermediateReportCitedDocs) Type() string { return "intermediate_report_cited_docs" }

// IntermediateReportEnd closes the block.
type IntermediateReportEnd struct{}

// Type implements Obj.
func (IntermediateReportEnd) Type() string { return "intermediate_report_end" }
