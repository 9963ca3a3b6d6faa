package llm

import "github.com/bulkhead-host/bulkhead/host/llm/provider"

// What a person sets of a model has its types in provider, which knows no model.
type (
	// Key is a credential that hides itself.
	Key = provider.Key
	// Switch is a setting that may be left to what is found out.
	Switch = provider.Switch
)

// The positions of a Switch.
const (
	Auto = provider.Auto
	Yes  = provider.Yes
	No   = provider.No
)

// NewKey returns a key that hides text. An empty text gives the zero Key.
func NewKey(text string) Key { return provider.NewKey(text) }

// Abilities override what an adapter finds out or assumes of its model. The zero
// value overrides nothing.
type Abilities struct {
	// Tools: it has a channel of its own for tool calls. With No, tools are described
	// in the prompt and calls are recovered from the text.
	Tools Switch
	// Parallel: it may call several tools at once.
	Parallel Switch
	// Reasoning: it is asked to reason before it answers.
	Reasoning Switch
	// Vision: it sees images.
	Vision Switch
}
