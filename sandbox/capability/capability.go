// Package capability is the catalogue of what a module may be allowed to do,
// and the rule by which a manifest, an operator's grants and a user's own rights
// become a right.
//
// A manifest's bytes and grants come in; typed parameters, effective rights and
// the labels of a tool go out. It decides nothing about a single host call (that
// is the gate's part), holds no state, and knows neither the host nor how a
// module is run.
package capability

import (
	"fmt"
	"slices"
)

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
	// Unserved are those of Functions that this host does not serve yet. A test of
	// host/hostfunc holds this to what it serves.
	Unserved []string
	// Default is the mode of a capability that a manifest asks for and that no
	// grant mentions.
	Default Mode
	// Ask is what the plugin wants, told to a person; it follows the plugin's
	// name, as in "search wants to read your documents".
	Ask string

	params func() Params
}

// Gap says in a sentence that this host does not serve the capability yet, "" where it does.
func (c Capability) Gap() string {
	if len(c.Unserved) == 0 || len(c.Unserved) < len(c.Functions) {
		return ""
	}
	return fmt.Sprintf("This host does not serve the capability %s yet: "+
		"a plugin that asks for it can be installed, and what it asks of %s is refused.", c.Name, c.Name)
}

// FunctionGap says in a sentence that this host does not serve a host function yet though it
// serves the capability, "" otherwise.
func FunctionGap(function string) string {
	c, known := ForFunction(function)
	if !known || c.Gap() != "" || !slices.Contains(c.Unserved, function) {
		return ""
	}
	return fmt.Sprintf("This host does not serve the host function %s yet: its calls answer that it is unavailable.",
		function)
}

// NewParams returns the zero parameters of the capability: no narrowing.
func (c Capability) NewParams() Params { return c.params() }

var catalogue = []Capability{
	{
		Name: HTTP, Default: Deny, Ask: "wants to fetch addresses on the network",
		Functions: []string{"http_fetch", "http_fetch_all"},
		params:    func() Params { return &HTTPParams{} },
	},
	{
		Name: Context, Default: Deny, Ask: "wants to know parts of your conversation",
		params: func() Params { return &ContextParams{} },
	},
	{
		Name: KV, Default: Allow, Ask: "wants to remember small values of its own",
		Functions: []string{"kv_get", "kv_put", "kv_delete", "kv_list"},
		params:    func() Params { return &KVParams{} },
	},
	{
		Name: Knowledge, Default: Deny, Ask: "wants to read your documents",
		Functions: []string{"knowledge_search", "knowledge_read"},
		params:    func() Params { return &KnowledgeParams{} },
	},
	{
		Name: Memory, Default: Deny, Ask: "wants to use what is remembered about you",
		Functions: []string{"memory_list", "memory_apply"},
		params:    func() Params { return &MemoryParams{} },
	},
	{
		Name: Files, Default: Deny, Ask: "wants to use your files",
		Functions: []string{"file_list", "file_read", "file_write"},
		Unserved:  []string{"file_write"},
		params:    func() Params { return &FilesParams{} },
	},
	{
		Name: Model, Default: Deny, Ask: "wants to ask a language model",
		Functions: []string{"model_complete", "create_message"},
		params:    func() Params { return &ModelParams{} },
	},
	{
		Name: Image, Default: Deny, Ask: "wants to make images",
		Functions: []string{"image_generate"},
		Unserved:  []string{"image_generate"},
		params:    func() Params { return &ImageParams{} },
	},
	{
		Name: Emit, Default: Allow, Ask: "wants to show its progress and output while it runs",
		Functions: []string{"emit"},
		params:    func() Params { return &EmitParams{} },
	},
	{
		Name: Tools, Default: Deny, Ask: "wants to call other tools",
		Functions: []string{"tool_call"},
		Unserved:  []string{"tool_call"},
		params:    func() Params { return &ToolsParams{} },
	},
	{
		Name: MCP, Default: Deny, Ask: "wants to use MCP servers",
		Functions: []string{"mcp_list", "mcp_call"},
		Unserved:  []string{"mcp_list", "mcp_call"},
		params:    func() Params { return &MCPParams{} },
	},
	{
		Name: Secrets, Default: Deny, Ask: "wants to know whether a secret is set, never its value",
		Functions: []string{"secret_exists"},
		Unserved:  []string{"secret_exists"},
		params:    func() Params { return &SecretsParams{} },
	},
	{
		Name: Workspace, Default: Deny, Ask: "wants a folder of its own",
		params: func() Params { return &WorkspaceParams{} },
	},
	{
		Name: Elicit, Default: Allow, Ask: "wants to ask you questions",
		Functions: []string{"create_elicitation"},
		Unserved:  []string{"create_elicitation"},
		params:    func() Params { return &ElicitParams{} },
	},
	{
		Name: Clock, Default: Allow, Ask: "wants to know the time",
		params: func() Params { return &SourceParams{} },
	},
	{
		Name: Random, Default: Allow, Ask: "wants random numbers",
		params: func() Params { return &SourceParams{} },
	},
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
