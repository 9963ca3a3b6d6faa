package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// Request is one call of a module that need not be installed.
type Request struct {
	WASM []byte
	// Manifest, when not nil, stands in for the module's own.
	Manifest []byte
	// Tool is the module's own name of the tool.
	Tool string
	// Arguments is a JSON object; empty for {}.
	Arguments json.RawMessage
	// Grants are what is granted. What they do not mention is denied, whatever
	// the default of the capability.
	Grants capability.Grants
	// Meta is what the tool may know; ReadMeta reads it.
	Meta Meta
	// User is whose documents and values are reached, "" for nobody's.
	User string
	// Config is what the guest reads with config_get.
	Config map[string]string
	// Report takes what the call shows, nil for nobody.
	Report tool.Reporter
	// Log takes what the guest logs, nil for nobody.
	Log func(level, message string)
}

// Surroundings are what a Request is run with.
type Surroundings struct {
	// Engine is required.
	Engine *engine.Engine
	// Knowledge is nil for none.
	Knowledge Knowledge
	// Storage keeps the values of kv; nil makes kv unavailable.
	Storage Storage
	// Egress lets requests out; nil for none.
	Egress *egress.Guard
	// Audit takes the records of the host calls. It is required.
	Audit audit.Recorder
	// Now is the clock, nil for time.Now.
	Now func() time.Time
}

// Response is what came of a Request.
type Response struct {
	// Result is as a model's call would have had it.
	Result tool.Result
	// Raw is what call_tool returned, byte for byte.
	Raw []byte
	// Duration is the wall time of the call, MemoryBytes the most memory that it
	// held.
	Duration    time.Duration
	MemoryBytes int64
	Fuel        int64
}

// only grants what a Request says, and denies the rest.
type only capability.Grants

// Grants implements gate.GrantSource.
func (o only) Grants(context.Context, string) (capability.Grants, error) {
	grants := capability.Grants{}
	for _, c := range capability.Catalogue() {
		grants[c.Name] = capability.Grant{Capability: c.Name, Mode: capability.Deny}
	}
	for name, g := range o {
		grants[name] = g
	}
	return grants, nil
}

// Grant implements gate.GrantSource.
func (o only) Grant(_ context.Context, _, name string) (capability.Grant, bool, error) {
	if g, granted := o[name]; granted {
		return g, true, nil
	}
	return capability.Grant{Capability: name, Mode: capability.Deny}, true, nil
}

// Run makes one call of one tool. It returns an *Error where the file or the name
// of the tool is at fault; what goes wrong inside the call is in the Response.
func Run(ctx context.Context, with Surroundings, r Request) (response Response, err error) {
	if with.Now == nil {
		with.Now = time.Now
	}
	manifest, _, err := readManifest(r.WASM, "plugin")
	if r.Manifest != nil && (err == nil || kindOf(err) == BadManifest) {
		if manifest, err = capability.ParseManifest(r.Manifest); err != nil {
			err = manifestError(err)
		}
	}
	if err != nil {
		return Response{}, err
	}
	assets, err := readAssets(r.WASM, manifest)
	if err != nil {
		return Response{}, err
	}
	module, err := with.Engine.Load(ctx, r.WASM, engineLimits(manifest))
	if err != nil {
		return Response{}, loadError(err)
	}
	defer func() { err = errors.Join(err, module.Close(ctx)) }()
	tools, err := listTools(ctx, module, manifest, engine.Call{Config: r.Config})
	if err != nil {
		return Response{}, err
	}
	if err := hasTool(tools, r.Tool); err != nil {
		return Response{}, err
	}
	functions := hostFunctions(with.Knowledge, with.Storage, web{with.Egress, egress.NewRate(with.Now)})
	g, err := gate.New(gate.Config{Functions: functions, Grants: only(r.Grants), Audit: with.Audit, Now: with.Now})
	if err != nil {
		return Response{}, err
	}
	if r.Report == nil {
		r.Report = unseen{}
	}
	if r.Log == nil {
		r.Log = func(string, string) {}
	}
	c := guestCall{
		gate: g, module: module, manifest: manifest, assets: assets, tool: r.Tool, exposed: r.Tool, title: r.Tool,
		config: r.Config, logger: slog.New(slog.DiscardHandler), log: r.Log,
	}
	result, out := c.run(ctx, r.Meta.invocation(r, with.Now()))
	return Response{Result: result, Raw: out.Output, Duration: out.Duration, MemoryBytes: out.MemoryBytes, Fuel: out.Fuel}, nil
}

func kindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func hasTool(tools []listedTool, name string) error {
	names := make([]string, len(tools))
	for i, t := range tools {
		if t.Name == name {
			return nil
		}
		names[i] = t.Name
	}
	return &Error{Kind: UnknownTool, Message: fmt.Sprintf("The plugin has no tool %q; it has %s.", name, strings.Join(names, ", "))}
}

// Meta is what a call may know of a conversation. What of it reaches the guest is
// up to the manifest's needs and the grant of capability context.
type Meta struct {
	Refs      *tool.Refs     `json:"refs"`
	Now       *time.Time     `json:"now"`
	Query     string         `json:"query"`
	History   []tool.Turn    `json:"history"`
	User      MetaUser       `json:"user"`
	Citations map[string]int `json:"citations"`
}

// MetaUser is what a call may know of the user.
type MetaUser struct {
	ID       string `json:"id"`
	Locale   string `json:"locale"`
	TimeZone string `json:"time_zone"`
}

// ReadMeta reads the JSON of --meta strictly. Keys may have the prefix bulkhead/.
func ReadMeta(data []byte) (Meta, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return Meta{}, fmt.Errorf("read meta: it is not a JSON object: %w", err)
	}
	short := make(map[string]json.RawMessage, len(fields))
	for key, value := range fields {
		short[strings.TrimPrefix(key, "bulkhead/")] = value
	}
	plain, err := json.Marshal(short)
	if err != nil {
		return Meta{}, fmt.Errorf("read meta: %w", err)
	}
	var m Meta
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil && !errors.Is(err, io.EOF) {
		return Meta{}, fmt.Errorf("read meta: %w; known are refs, now, query, history, user, citations", err)
	}
	return m, nil
}

func (m Meta) invocation(r Request, now time.Time) tool.Invocation {
	in := tool.Invocation{
		CallID: "run", User: r.User, Arguments: r.Arguments, Refs: tool.Refs{Start: 1, Count: 100}, Now: now, Report: r.Report,
		Context: tool.Context{
			Query: m.Query, History: m.History, UserID: m.User.ID, Locale: m.User.Locale, TimeZone: m.User.TimeZone, Citations: m.Citations,
		},
	}
	if m.Refs != nil {
		in.Refs = *m.Refs
	}
	if m.Now != nil {
		in.Now = *m.Now
	}
	return in
}

// unseen drops what a call shows.
type unseen struct{}

func (unseen) Progress(string, *float64) {}
func (unseen) Output(string, string)     {}
func (unseen) Documents([]tool.Document) {}
func (unseen) Files([]tool.File)         {}
