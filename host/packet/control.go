package packet

// Outcome is how a tool block ended.
type Outcome string

// The outcomes of a tool block.
const (
	OutcomeOK          Outcome = "ok"
	OutcomeError       Outcome = "error"
	OutcomeDenied      Outcome = "denied"
	OutcomeTimeout     Outcome = "timeout"
	OutcomeCancelled   Outcome = "cancelled"
	OutcomeInterrupted Outcome = "interrupted"
)

// StopReason is why a model, or the whole run, ended.
type StopReason string

// The reasons of a stop.
const (
	StopCompleted     StopReason = "completed"
	StopUserCancelled StopReason = "user_cancelled"
	StopError         StopReason = "error"
	StopInterrupted   StopReason = "interrupted"
	StopAwaitingUser  StopReason = "awaiting_user"
)

// RunReason is the reason of the run's own stop, given those of its models:
// their common one, else the first that applies of awaiting_user, completed,
// user_cancelled, interrupted, error. With no model it is error.
func RunReason(models []StopReason) StopReason {
	for _, r := range []StopReason{StopAwaitingUser, StopCompleted, StopUserCancelled, StopInterrupted} {
		for _, m := range models {
			if m == r {
				return r
			}
		}
	}
	return StopError
}

// SessionCreated is sent first, only when this message opened the session.
type SessionCreated struct {
	SessionID string `json:"session_id"`
	Title     string `json:"title,omitempty"`
}

// Type implements Obj.
func (SessionCreated) Type() string { return "session_created" }

// Response names the message that one model is going to write.
type Response struct {
	ModelIndex int    `json:"model_index"`
	MessageID  string `json:"message_id"`
	Model      string `json:"model"`
}

// RunStarted is the first packet, or follows session_created. The ids in it are
// durable already.
type RunStarted struct {
	UserMessageID string     `json:"user_message_id"`
	Responses     []Response `json:"responses"`
}

// Type implements Obj.
func (RunStarted) Type() string { return "run_started" }

// TopLevelBranching says which tabs the next tool turn will have, after merging
// and before the first dispatch. Numbers may have gaps.
type TopLevelBranching struct {
	TurnIndex int   `json:"turn_index"`
	Tabs      []int `json:"tabs"`
}

// Type implements Obj.
func (TopLevelBranching) Type() string { return "top_level_branching" }

// HostCall is one thing that a tool asked of the host.
type HostCall struct {
	Capability string `json:"capability"`
	// Summary is a short text for a person; it holds no secret.
	Summary string `json:"summary"`
	// Decision is allow, ask or deny as it came out.
	Decision string `json:"decision"`
	// Bytes is how much the host handed back, in bytes.
	Bytes int64 `json:"bytes"`
}

// SectionEnd closes a tool block, exactly once, whatever happened.
type SectionEnd struct {
	Outcome Outcome `json:"outcome"`
	// DurationMS is the wall time of the call in milliseconds; 0 where it never
	// got to dispatch.
	DurationMS int64 `json:"duration_ms"`
	// Fuel is the number of Wasm instructions executed; absent where not metered.
	Fuel          int64      `json:"fuel,omitempty"`
	PluginVersion string     `json:"plugin_version,omitempty"`
	HostCalls     []HostCall `json:"host_calls,omitempty"`
}

// Type implements Obj.
func (SectionEnd) Type() string { return "section_end" }

// Notice is something a person should know that ends nothing.
type Notice struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	CallID  string `json:"call_id,omitempty"`
}

// Type implements Obj.
func (Notice) Type() string { return "notice" }

// Error is terminal: the stop{error} of that model follows. Message is a
// sentence for a person, never a stack, a key or a path.
type Error struct {
	Code       Code   `json:"code"`
	Message    string `json:"message"`
	Retryable  bool   `json:"retryable"`
	ModelIndex *int   `json:"model_index,omitempty"`
}

// Type implements Obj.
func (Error) Type() string { return "error" }

// Usage is sent once per model step, at the step's last placement. All counts
// are tokens.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	CachedTokens int64 `json:"cached_tokens,omitempty"`
	// Cost is in US dollars where the provider states it.
	Cost float64 `json:"cost,omitempty"`
}

// Type implements Obj.
func (Usage) Type() string { return "usage" }

// Stop is the last packet of a model; one with a null model index ends the run.
type Stop struct {
	Reason StopReason `json:"reason"`
}

// Type implements Obj.
func (Stop) Type() string { return "stop" }
