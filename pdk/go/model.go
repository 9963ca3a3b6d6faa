package pdk

import "time"

// ModelMessage is one message of a question to a language model.
type ModelMessage struct {
	// Role is system, user or assistant.
	Role string `json:"role"`
	Text string `json:"text"`
}

// ModelRequest is a question to a language model.
type ModelRequest struct {
	// Messages are oldest first; there is at least one.
	Messages []ModelMessage
	// Model names one of the models that were granted. Without it the model that
	// answers the person is asked.
	Model string
	// MaxTokens caps the answer, 0 for what the grant allows.
	MaxTokens int
	// Timeout is in whole milliseconds, 0 for the host's own of two minutes, which
	// is also the most. Keep it below the time limit of your tool.
	Timeout time.Duration
}

// ModelAnswer is what a model said.
type ModelAnswer struct {
	Text string `json:"text"`
	// Model is the name of the model that answered.
	Model string `json:"model"`
	// Truncated says that the answer was cut off at MaxTokens.
	Truncated bool `json:"truncated"`
	// Tokens is what question and answer took of what was granted.
	Tokens int64 `json:"tokens"`
}

// ModelComplete asks a language model and waits for its answer, without tools
// and without the conversation. It needs the capability model, and fails with
// Unavailable where the host has no model that follows instructions, with
// Timeout, and with Quota when the tokens are used up.
func ModelComplete(r ModelRequest) (ModelAnswer, error) {
	return call[ModelAnswer](hostModelComplete, struct {
		Messages  []ModelMessage `json:"messages"`
		Model     string         `json:"model,omitempty"`
		MaxTokens int            `json:"max_tokens,omitempty"`
		TimeoutMS int64          `json:"timeout_ms,omitempty"`
	}{r.Messages, r.Model, r.MaxTokens, r.Timeout.Milliseconds()})
}
