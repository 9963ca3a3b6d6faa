package packet

import "encoding/json"

// ToolStart opens a tool block. It is sent when the name is known for tools that
// stream their arguments, else at dispatch.
type ToolStart struct {
	CallID string `json:"call_id"`
	// Tool is the name that the model used.
	Tool string `json:"tool"`
	// ToolID is the tool's identity, such as search/internal_search; absent for an
	// unknown name and for a tool of the model's provider.
	ToolID string `json:"tool_id,omitempty"`
	// Plugin is the plugin that serves it; "" for a loop tool or an unknown name.
	Plugin string `json:"plugin"`
	Title  string `json:"title"`
	Icon   string `json:"icon,omitempty"`
	// Labels are private_data, untrusted_content, egress and writes.
	Labels       []string `json:"labels"`
	ParentCallID string   `json:"parent_call_id,omitempty"`
}

// Type implements Obj.
func (ToolStart) Type() string { return "tool_start" }

// ToolArgsDelta is a string argument as the model writes it; only for tools
// whose manifest says stream_args.
type ToolArgsDelta struct {
	CallID string `json:"call_id"`
	Key    string `json:"key"`
	Delta  string `json:"delta"`
}

// Type implements Obj.
func (ToolArgsDelta) Type() string { return "tool_args_delta" }

// ToolArgs are the arguments that the tool gets, after repair and merging, with
// secrets redacted.
type ToolArgs struct {
	CallID string `json:"call_id"`
	// Arguments is a JSON object, or a JSON string with the model's text where it
	// wrote no object.
	Arguments json.RawMessage `json:"arguments"`
}

// Type implements Obj.
func (ToolArgs) Type() string { return "tool_args" }

// ToolProgress says how far a call has come.
type ToolProgress struct {
	CallID  string `json:"call_id"`
	Message string `json:"message,omitempty"`
	// Fraction is 0 to 1; nil where unknown.
	Fraction *float64 `json:"fraction,omitempty"`
}

// Type implements Obj.
func (ToolProgress) Type() string { return "tool_progress" }

// Channel is which of a tool's outputs a piece belongs to.
type Channel string

// The channels of tool_output.
const (
	ChannelText     Channel = "text"
	ChannelStdout   Channel = "stdout"
	ChannelStderr   Channel = "stderr"
	ChannelMarkdown Channel = "markdown"
)

// ToolOutput is the next piece of a call's output.
type ToolOutput struct {
	CallID  string  `json:"call_id"`
	Channel Channel `json:"channel"`
	Delta   string  `json:"delta"`
}

// Type implements Obj.
func (ToolOutput) Type() string { return "tool_output" }

// ToolDocuments are the documents that a call found.
type ToolDocuments struct {
	CallID    string     `json:"call_id"`
	Documents []Document `json:"documents"`
}

// Type implements Obj.
func (ToolDocuments) Type() string { return "tool_documents" }

// File is a file that a tool produced.
type File struct {
	FileID    string `json:"file_id"`
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	// Size is in bytes.
	Size int64 `json:"size"`
}

// ToolFiles are the files that a call produced.
type ToolFiles struct {
	CallID string `json:"call_id"`
	Files  []File `json:"files"`
}

// Type implements Obj.
func (ToolFiles) Type() string { return "tool_files" }

// ToolErrorKind is what went wrong with a call.
type ToolErrorKind string

// The kinds of tool_error.
const (
	ToolErrorInput       ToolErrorKind = "input"
	ToolErrorDenied      ToolErrorKind = "denied"
	ToolErrorQuota       ToolErrorKind = "quota"
	ToolErrorTimeout     ToolErrorKind = "timeout"
	ToolErrorUnavailable ToolErrorKind = "unavailable"
	ToolErrorTrap        ToolErrorKind = "trap"
	ToolErrorTooLarge    ToolErrorKind = "output_too_large"
	ToolErrorFailed      ToolErrorKind = "failed"
)

// ToolError says in a sentence for a person why a call failed.
type ToolError struct {
	CallID  string        `json:"call_id"`
	Kind    ToolErrorKind `json:"kind"`
	Message string        `json:"message"`
	// Held tells that the call was only held back because models are compared. It
	// runs when this answer goes on.
	Held bool `json:"held,omitempty"`
}

// Type implements Obj.
func (ToolError) Type() string { return "tool_error" }

// ApprovalRequest asks a person whether a call may do what it is about to do.
type ApprovalRequest struct {
	ApprovalID string `json:"approval_id"`
	CallID     string `json:"call_id"`
	Tool       string `json:"tool"`
	Plugin     string `json:"plugin"`
	Capability string `json:"capability"`
	// Summary is the ask in plain words.
	Summary string `json:"summary"`
	// Details is the exact effect, shown as it is.
	Details json.RawMessage `json:"details"`
	// ExpiresAt is RFC 3339.
	ExpiresAt string `json:"expires_at"`
}

// Type implements Obj.
func (ApprovalRequest) Type() string { return "approval_request" }

// ApprovalResolved ends an approval_request, before its section_end, always.
type ApprovalResolved struct {
	ApprovalID string `json:"approval_id"`
	// Decision is once, session, always, deny, expired or cancelled.
	Decision string `json:"decision"`
	By       string `json:"by"`
}

// Type implements Obj.
func (ApprovalResolved) Type() string { return "approval_resolved" }

// InputRequest asks a person for a value, or to visit a page.
type InputRequest struct {
	InputID string `json:"input_id"`
	CallID  string `json:"call_id"`
	// Kind is form or url.
	Kind    string          `json:"kind"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	URL     string          `json:"url,omitempty"`
	// ExpiresAt is RFC 3339.
	ExpiresAt string `json:"expires_at"`
}

// Type implements Obj.
func (InputRequest) Type() string { return "input_request" }

// InputResolved ends an input_request, before its section_end, always.
type InputResolved struct {
	InputID string `json:"input_id"`
	// Action is accept, decline, cancel or expired.
	Action string `json:"action"`
}

// Type implements Obj.
func (InputResolved) Type() string { return "input_resolved" }

// MemoryChanged says what a call did to the person's memories.
type MemoryChanged struct {
	CallID string `json:"call_id"`
	// Operation is add, update or delete.
	Operation string `json:"operation"`
	MemoryID  string `json:"memory_id"`
	Text      string `json:"text"`
}

// Type implements Obj.
func (MemoryChanged) Type() string { return "memory_changed" }
