package packet

// ReasoningStart opens a reasoning block.
type ReasoningStart struct{}

// Type implements Obj.
func (ReasoningStart) Type() string { return "reasoning_start" }

// ReasoningDelta is the next piece of the model's reasoning.
type ReasoningDelta struct {
	Reasoning string `json:"reasoning"`
}

// Type implements Obj.
func (ReasoningDelta) Type() string { return "reasoning_delta" }

// ReasoningDone closes a reasoning block.
type ReasoningDone struct {
	// DurationMS is the time from reasoning_start to here in milliseconds.
	DurationMS int64 `json:"duration_ms"`
}

// Type implements Obj.
func (ReasoningDone) Type() string { return "reasoning_done" }

// Document is a source as a client shows it.
type Document struct {
	ID string `json:"id"`
	// Ref is the number by which the model knows the document: one space per
	// path of messages. 0 means none. It is never shown to a person.
	Ref     int    `json:"ref,omitempty"`
	Title   string `json:"title"`
	URL     string `json:"url,omitempty"`
	Snippet string `json:"snippet"`
	// Source says where the document lives, such as "knowledge".
	Source string `json:"source"`
	// UpdatedAt is RFC 3339, empty where unknown.
	UpdatedAt string `json:"updated_at,omitempty"`
}

// MessageStart opens a block of answer text.
type MessageStart struct {
	FinalDocuments []Document `json:"final_documents,omitempty"`
}

// Type implements Obj.
func (MessageStart) Type() string { return "message_start" }

// MessageDelta is the next piece of answer text. Joined over an answer's blocks
// in order, the deltas are exactly the text that is stored.
type MessageDelta struct {
	Content string `json:"content"`
}

// Type implements Obj.
func (MessageDelta) Type() string { return "message_delta" }

// CitationInfo comes before the delta that shows its marker, once per document
// and message.
type CitationInfo struct {
	// CitationNumber is what the screen shows: 1, 2, 3 … in order of first use
	// within one answer.
	CitationNumber int      `json:"citation_number"`
	Ref            int      `json:"ref"`
	Document       Document `json:"document"`
}

// Type implements Obj.
func (CitationInfo) Type() string { return "citation_info" }

// Support is how well a cited document carries the claim beside its marker.
type Support string

// The grades of support.
const (
	SupportQuoted    Support = "quoted"
	SupportStated    Support = "stated"
	SupportWeak      Support = "weak"
	SupportAbsent    Support = "absent"
	SupportUnchecked Support = "unchecked"
)

// CitationSupport grades one use of a citation. It comes after the sentence, at
// the latest before message_end.
type CitationSupport struct {
	CitationNumber int `json:"citation_number"`
	// Start and End are Unicode code points in the block's text, half open.
	Start   int     `json:"start"`
	End     int     `json:"end"`
	Support Support `json:"support"`
	Reason  string  `json:"reason,omitempty"`
}

// Type implements Obj.
func (CitationSupport) Type() string { return "citation_support" }

// MessageEnd closes a block of answer text.
type MessageEnd struct{}

// Type implements Obj.
func (MessageEnd) Type() string { return "message_end" }
