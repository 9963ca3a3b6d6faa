// Package capability is the catalogue of what a module may be allowed to do,
// and the rule by which a manifest, an operator's grants and a user's own rights
// become a right.
//
// A manifest's bytes and grants come in; typed parameters, effective rights and
// the labels of a tool go out. It decides nothing about a single host call (that
// is the gate's part), holds no state, and knows neither the host nor how a
// module is run.
package capability

import "slices"

// Mode is how a host call of a capability is answered.
type Mode string

// The modes, from the widest to the strictest.
const (
	Allow Mode = "allow"
	Ask   Mode = "ask"
	Deny  Mode = "deny"
)

// Valid tells whether m is one of the modes.
func (m Mode) Valid() bool { return m == Allow || m == Ask || m == Deny }

// Stricter returns the stricter of two modes. A mode that is not one of the
// constants counts as Deny.
func (m Mode) Stricter(other Mode) Mode {
	if m.rank() >= other.rank() {
		return m.orDeny()
	}
	return other.orDeny()
}

func (m Mode) rank() int {
	switch m {
	case Allow:
		return 0
	case Ask:
		return 1
	default:
		return 2
	}
}

func (m Mode) orDeny() Mode {
	if m.Valid() {
		return m
	}
	return Deny
}

// The names of the capabilities.
const (
	HTTP      = "http"
	Context   = "context"
	KV        = "kv"
	Knowledge = "knowledge"
	Memory    = "memory"
	Files     = "files"
	Model     = "model"
	Image     = "image"
	Emit      = "emit"
	Tools     = "tools"
	MCP       = "mcp"
	Secrets   = "secrets"
	Workspace = "workspace"
	Elicit    = "elicit"
	Clock     = "clock"
	Random    = "random"
)

// Capability is one row of the catalogue. It is immutable.
type Capability struct {
	// Name is one of the constants of this package.
	Name string
	// Functions are the host functions of extism:host/user that it opens. Where
	// the right is served by other means (WASI, a field in _meta, an import of
	// extism:host/env) the list is empty or shorter than the right.
	Functions []string
	// Default is the mode of a capability that a manifest asks for and that no
	// grant mentions.
	Default Mode
	// Ask is what the plugin wants, told to a person; it follows the plugin's
	// name, as in "search wants to read your documents".
	Ask string

	params func() Params
}

// NewParams returns the zero parameters of the capability: no narrowing.
func (c Capability) NewParams() Params { return c.params() }

var catalogue = []Capability{
	{HTTP, []string{"http_fetch", "http_fetch_all"}, Deny, "wants to fetch addresses on the network", func() Params { return &HTTPParams{} }},
	{Context, nil, Deny, "wants to know parts of your conversation", func() Params { return &ContextParams{} }},
	{KV, []string{"kv_get", "kv_put", "kv_delete", "kv_list"}, Allow, "wants to remember small values of its own", func() Params { return &KVParams{} }},
	{Knowledge, []string{"knowledge_search", "knowledge_read"}, Deny, "wants to read your documents", func() Params { return &KnowledgeParams{} }},
	{Memory, []string{"memory_list", "memory_apply"}, Deny, "wants to use what is remembered about you", func() Params { return &MemoryParams{} }},
	{Files, []string{"file_list", "file_read", "file_write"}, Deny, "wants to use your files", func() Params { return &FilesParams{} }},
	{Model, []string{"model_complete", "create_message"}, Deny, "wants to ask a language model", func() Params { return &ModelParams{} }},
	{Image, []string{"image_generate"}, Deny, "wants to make images", func() Params { return &ImageParams{} }},
	{Emit, []string{"emit"}, Allow, "wants to show its progress and output while it runs", func() Params { return &EmitParams{} }},
	{Tools, []string{"tool_call"}, Deny, "wants to call other tools", func() Params { return &ToolsParams{} }},
	{MCP, []string{"mcp_list", "mcp_call"}, Deny, "wants to use MCP servers", func() Params { return &MCPParams{} }},
	{Secrets, []string{"secret_exists"}, Deny, "wants to know whether a secret is set, never its value", func() Params { return &SecretsParams{} }},
	{Workspace, nil, Deny, "wants a folder of its own", func() Params { return &WorkspaceParams{} }},
	{Elicit, []string{"create_elicitation"}, Allow, "wants to ask you questions", func() Params { return &ElicitParams{} }},
	{Clock, nil, Allow, "wants to know the time", func() Params { return &SourceParams{} }},
	{Random, nil, Allow, "wants random numbers", func() Params { return &SourceParams{} }},
}

// Catalogue returns all capabilities in the order of the documentation. The
// slice is the caller's.
func Catalogue() []Capability { return slices.Clone(catalogue) }

// Lookup returns the capability of a name.
func Lookup(name string) (Capability, bool) {
	for _, c := range catalogue {
		if c.Name == name {
			return c, true
		}
	}
	return Capability{}, false
}

// ForFunction returns the capability that opens a host function.
func ForFunction(function string) (Capability, bool) {
	for _, c := range catalogue {
		if slices.Contains(c.Functions, function) {
			return c, true
		}
	}
	return Capability{}, false
}
