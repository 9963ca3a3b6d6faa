package capability

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MaxManifestBytes is how long a manifest may be.
const MaxManifestBytes = 1 << 20

// FormatVersion is the only value of the field manifest.
const FormatVersion = 1

// The protocols that a module may speak.
const (
	ProtocolToolsV2     = "tools.v2"
	ProtocolToolsV1     = "tools.v1"
	ProtocolWASICommand = "wasi-command"
)

// AnyTool is the key of the entry for every listed tool that is not named.
const AnyTool = "*"

// Manifest is what a plugin says of itself and what it asks for. It is read with
// ParseManifest and not changed afterwards.
type Manifest struct {
	// Manifest is FormatVersion.
	Manifest int `json:"manifest"`
	// Name is [a-z][a-z0-9_]{0,62}.
	Name string `json:"name"`
	// Version is the plugin's own, 1 to 64 characters.
	Version string `json:"version"`
	// Title and Description are for people.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// License is an SPDX expression.
	License string `json:"license,omitempty"`
	// Protocol is one of the constants, "" to tell it by the exports.
	Protocol string `json:"protocol,omitempty"`
	// Capabilities holds the parameters of each capability that is asked for.
	Capabilities map[string]json.RawMessage `json:"capabilities,omitempty"`
	Limits       Limits                     `json:"limits,omitzero"`
	// Tools says more of each tool, by its name or AnyTool.
	Tools map[string]ToolEntry `json:"tools,omitempty"`
	// Dynamic tells that the tools depend on configuration.
	Dynamic bool `json:"dynamic,omitempty"`
	// Assets is the name of the section with the plugin's files.
	Assets string `json:"assets,omitempty"`

	// Implicit marks the manifest of a module that has none: it asks for nothing
	// by itself, and an operator's grant alone decides.
	Implicit bool `json:"-"`

	asks map[string]Params
}

// ToolEntry is what host code knows of a tool beyond its schema.
type ToolEntry struct {
	// Labels are of private_data, untrusted_content, egress, writes.
	Labels []string `json:"labels,omitempty"`
	// Cites tells that the tool returns documents to cite.
	Cites bool `json:"cites,omitempty"`
	// Merge names the array argument by which calls of one cycle become one.
	Merge string `json:"merge,omitempty"`
	// StreamArgs shows arguments as the model writes them; it excludes Merge.
	StreamArgs bool `json:"stream_args,omitempty"`
	// StopsLoop makes the model answer after this tool.
	StopsLoop bool `json:"stops_loop,omitempty"`
	// Needs are of query, history, user, citations.
	Needs []string `json:"needs,omitempty"`
	// Approval is asked once before the call; "" is allow.
	Approval Mode `json:"approval,omitempty"`
	// Reminder is a sentence for the model in the step after the tool ran.
	Reminder string `json:"reminder,omitempty"`
	// WASI is for tools of a wasi-command.
	WASI *WASIEntry `json:"wasi,omitempty"`
}

// WASIEntry says how a tool call becomes a run of a WASI program.
type WASIEntry struct {
	// Title and Description are what a tool of another protocol says of itself; ""
	// takes the name, and the plugin's description.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// InputSchema is a JSON Schema of type object; without one, each {name} in Argv
	// and the text for stdin are strings that a call must have.
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	// Argv are the arguments, the program's name first; {name} is replaced by the
	// tool's argument. Arguments that a call leaves out take their entry with them,
	// and an entry that is {name} alone becomes one entry for each of a list.
	Argv []string `json:"argv"`
	// Stdin is none, arguments (their JSON) or text (the argument text); "" is none.
	Stdin string `json:"stdin,omitempty"`
	// Stdout is text or json; "" is text.
	Stdout string `json:"stdout,omitempty"`
	// OKExitCodes are the exit codes of success, 0 to 255; nil is 0 alone.
	OKExitCodes []int `json:"ok_exit_codes,omitempty"`
}

// Limits bound one call. Zero fields take the host's default.
type Limits struct {
	// MemoryMiB is 1 to 4096.
	MemoryMiB int `json:"memory_mib,omitempty"`
	// Fuel is the number of instructions.
	Fuel int64 `json:"fuel,omitempty"`
	// TimeoutMS is 1 to 3600000.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// OutputBytes is 1 to 64 MiB.
	OutputBytes int64 `json:"output_bytes,omitempty"`
	// Concurrency is 1 to 256 calls at a time.
	Concurrency int `json:"concurrency,omitempty"`
	// Isolation is reset (the default) or fresh.
	Isolation string `json:"isolation,omitempty"`
}

// Timeout is TimeoutMS as a duration, 0 where not set.
func (l Limits) Timeout() time.Duration { return time.Duration(l.TimeoutMS) * time.Millisecond }

// Default returns the manifest of a module that has none: no capability, tools
// read from the module, until an operator grants more.
func Default(name string) Manifest {
	return Manifest{Manifest: FormatVersion, Name: name, Version: "0", Implicit: true}
}

// ParseManifest reads a manifest. It returns a *Fault that names the field when
// the format is broken; errors.Is(err, ErrUnknownField) where that is why. It
// never returns a partly filled manifest.
func ParseManifest(data []byte) (Manifest, error) {
	if len(data) > MaxManifestBytes {
		return Manifest{}, fmt.Errorf("read manifest: %w",
			fault("", "it has %d bytes, more than %d", len(data), MaxManifestBytes))
	}
	var m Manifest
	if err := decodeStrict("", data, &m); err != nil {
		return Manifest{}, fmt.Errorf("read manifest: %w", err)
	}
	if err := m.check(); err != nil {
		return Manifest{}, fmt.Errorf("read manifest: %w", err)
	}
	return m, nil
}

// Tool returns the entry of a tool: its own, else that of AnyTool, else the zero
// entry.
func (m Manifest) Tool(name string) ToolEntry {
	if e, ok := m.Tools[name]; ok {
		return e
	}
	return m.Tools[AnyTool]
}

// Asks returns the parameters that the manifest asks for a capability. An
// implicit manifest asks for every capability without narrowing; what it gets is
// up to the grants.
func (m Manifest) Asks(capability string) (Params, bool) {
	if m.Implicit {
		c, ok := Lookup(capability)
		if !ok {
			return nil, false
		}
		return c.NewParams(), true
	}
	p, ok := m.asks[capability]
	return p, ok
}

// Wish is one thing that a plugin wants, told to a person.
type Wish struct {
	Capability string `json:"capability"`
	// Sentence is such as "search wants to read your documents."
	Sentence string `json:"sentence"`
	// Default is the mode without a grant.
	Default Mode `json:"default"`
	// Gap says that this host does not serve the capability yet, "" where it does.
	Gap string `json:"gap,omitempty"`
}

// Wishes returns what the manifest asks for, in the order of the catalogue.
func (m Manifest) Wishes() []Wish {
	var list []Wish
	for _, c := range catalogue {
		p, ok := m.asks[c.Name]
		if !ok {
			continue
		}
		s := m.Name + " " + c.Ask
		if d := p.Describe(); d != "" {
			s += " (" + d + ")"
		}
		list = append(list, Wish{Capability: c.Name, Sentence: s + ".", Default: c.Default, Gap: c.Gap()})
	}
	return list
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// ValidName tells whether a name is fit for a plugin or one of our own tools:
// [a-z][a-z0-9_]{0,62}.
func ValidName(name string) bool { return namePattern.MatchString(name) }

func (m *Manifest) check() error {
	if m.Manifest != FormatVersion {
		return fault("manifest", "%d is not a known version of the format; write 1", m.Manifest)
	}
	if !ValidName(m.Name) {
		return fault("name", "%q is not a name: lower-case letters, digits and _, beginning with a letter, at most 63",
			shorten(m.Name, 70))
	}
	if m.Version == "" || len(m.Version) > 64 {
		return fault("version", "it must have 1 to 64 characters")
	}
	if err := oneOf("protocol", m.Protocol, ProtocolToolsV2, ProtocolToolsV1, ProtocolWASICommand); err != nil {
		return err
	}
	if err := m.parseAsks(); err != nil {
		return err
	}
	if err := m.Limits.check("limits"); err != nil {
		return err
	}
	for _, name := range sortedKeys(m.Tools) {
		if name == "" || len(name) > 128 {
			return fault("tools", "the name of a tool must have 1 to 128 characters")
		}
		if err := m.Tools[name].check(at("tools", name), m.Protocol); err != nil {
			return err
		}
		if name == AnyTool && m.Tools[name].WASI != nil {
			return fault(at("tools", name)+".wasi", "each tool of a wasi-command is named")
		}
	}
	return nil
}

func (m *Manifest) parseAsks() error {
	m.asks = make(map[string]Params, len(m.Capabilities))
	for _, name := range sortedKeys(m.Capabilities) {
		p, err := parseParams(at("capabilities", name), name, m.Capabilities[name])
		if err != nil {
			return err
		}
		m.asks[name] = p
	}
	return nil
}

// parseParams decodes and checks the parameters of one capability.
func parseParams(path, name string, data json.RawMessage) (Params, error) {
	c, ok := Lookup(name)
	if !ok {
		f := fault(path, "unknown capability %q; known are %s", shorten(name, 64),
			strings.Join(capabilityNames(), ", "))
		f.cause = ErrUnknownField
		return nil, f
	}
	p := c.NewParams()
	if len(data) > 0 {
		if err := decodeStrict(path, data, p); err != nil {
			return nil, err
		}
	}
	if err := p.check(path); err != nil {
		return nil, err
	}
	return p, nil
}

func capabilityNames() []string {
	names := make([]string, len(catalogue))
	for i, c := range catalogue {
		names[i] = c.Name
	}
	return names
}

func (l Limits) check(path string) error {
	return first(
		within(path+".memory_mib", int64(l.MemoryMiB), 4096),
		notNegative(path+".fuel", l.Fuel),
		within(path+".timeout_ms", l.TimeoutMS, 3_600_000),
		within(path+".output_bytes", l.OutputBytes, 64<<20),
		within(path+".concurrency", int64(l.Concurrency), 256),
		oneOf(path+".isolation", l.Isolation, "reset", "fresh"),
	)
}

func within(path string, n, most int64) error {
	if n < 0 || n > most {
		return fault(path, "%d is not between 1 and %d", n, most)
	}
	return nil
}

func (e ToolEntry) check(path, protocol string) error {
	if e.StreamArgs && e.Merge != "" {
		return fault(path, "stream_args and merge exclude each other: merged calls have no arguments of their own to "+
			"show")
	}
	if e.Approval != "" && !e.Approval.Valid() {
		return fault(path+".approval", "%q is not one of allow, ask, deny", e.Approval)
	}
	if err := Set(e.Labels).checkIn(path+".labels", AllLabels()...); err != nil {
		return err
	}
	if err := Set(e.Needs).checkIn(path+".needs", contextFields...); err != nil {
		return err
	}
	if e.WASI == nil {
		return nil
	}
	if protocol != ProtocolWASICommand {
		return fault(path+".wasi", "it is for the protocol wasi-command only")
	}
	return e.WASI.check(path + ".wasi")
}

func (e *WASIEntry) check(path string) error {
	for i, code := range e.OKExitCodes {
		if code < 0 || code > 255 {
			return fault(fmt.Sprintf("%s.ok_exit_codes[%d]", path, i), "%d is not between 0 and 255", code)
		}
	}
	if len(e.Argv) == 0 {
		return fault(path+".argv", "it must have an entry, the program's name")
	}
	for i, arg := range e.Argv {
		if strings.ContainsRune(arg, 0) {
			return fault(fmt.Sprintf("%s.argv[%d]", path, i), "an argument cannot have a zero byte")
		}
	}
	var schema struct {
		Type string `json:"type"`
	}
	if len(e.InputSchema) > 0 && (json.Unmarshal(e.InputSchema, &schema) != nil || schema.Type != "object") {
		return fault(path+".input_schema", "it must be a JSON Schema with \"type\":\"object\"")
	}
	return first(oneOf(path+".stdin", e.Stdin, "none", "arguments", "text"),
		oneOf(path+".stdout", e.Stdout, "text", "json"))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
