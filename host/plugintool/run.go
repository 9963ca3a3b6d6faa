// Package plugintool is what the author of a plugin does with a module file that need not be
// installed: look at it, check it, compare it with the reference SDK, and call one tool of it.
//
// Module bytes and what is to be tried come in; reports go out, which a command line shows
// or writes as JSON. Nothing is granted that is not said.
//
// It must not know what is installed, nor where reports go.
package plugintool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
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
	// Services serve what is granted; their Now is nil for time.Now.
	Services hostfunc.Services
	// Audit takes the records of the host calls. It is required.
	Audit audit.Recorder
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

// Run makes one call of one tool. It returns a *guest.Error where the file or the name
// of the tool is at fault; what goes wrong inside the call is in the Response.
func Run(ctx context.Context, with Surroundings, r Request) (response Response, err error) {
	if with.Services.Now == nil {
		with.Services.Now = time.Now
	}
	manifest, err := manifestOf(r)
	if err != nil {
		return Response{}, err
	}
	assets, err := guest.ReadAssets(r.WASM, manifest)
	if err != nil {
		return Response{}, err
	}
	module, err := guest.Load(ctx, with.Engine, r.WASM, manifest)
	if err != nil {
		return Response{}, err
	}
	defer func() { err = errors.Join(err, module.Close(ctx)) }()
	tools, err := guest.ListTools(ctx, module, manifest, r.Config)
	if err != nil {
		return Response{}, err
	}
	listed, err := toolNamed(tools, r.Tool)
	if err != nil {
		return Response{}, err
	}
	host := hostfunc.New(with.Services)
	g, err := gate.New(gate.Config{
		Functions: host.Functions(), Grants: only(r.Grants), Audit: with.Audit, Now: with.Services.Now,
	})
	if err != nil {
		return Response{}, err
	}
	labels, err := labelsOf(ctx, g, host, manifest, r)
	if err != nil {
		return Response{}, err
	}
	spec := tool.Spec{Name: r.Tool, InputSchema: listed.InputSchema, Labels: labels}
	fitted, err := toolrun.Fit(spec, toolrun.Request{Name: r.Tool, Arguments: string(r.Arguments)})
	if err != nil {
		return Response{Result: toolrun.BadArguments(spec, err)}, nil
	}
	if r.Arguments, err = json.Marshal(fitted.Arguments); err != nil {
		return Response{}, err
	}
	if r.Report == nil {
		r.Report = guest.Unseen{}
	}
	if r.Log == nil {
		r.Log = func(string, string) {}
	}
	c := guest.Call{
		Gate: g, Host: host, Module: module, Manifest: manifest, Assets: assets,
		Tool: r.Tool, Exposed: r.Tool, Title: r.Tool, Config: r.Config,
		Logger: slog.New(slog.DiscardHandler), Log: r.Log,
		Carries: func() ([]string, error) { return carries(ctx, g, host, manifest, r) },
	}
	result, out := c.Do(ctx, r.Meta.invocation(r, with.Services.Now()))
	result.Text += fitted.LeftOut(r.Tool)
	return Response{
		Result: result, Raw: out.Output, Duration: out.Duration, MemoryBytes: out.MemoryBytes, Fuel: out.Fuel,
	}, nil
}

// carries returns the labels of what the call may store: those that its grants give it, and
// of what was kept.
func carries(
	ctx context.Context, g *gate.Gate, host *hostfunc.Host, m capability.Manifest, r Request,
) ([]string, error) {
	rights, err := g.Rights(ctx, m, r.User)
	if err != nil {
		return nil, err
	}
	brought, err := host.Brought(ctx, m.Name, r.User, rights)
	if err != nil {
		return nil, err
	}
	labels, err := labelsOf(ctx, g, host, m, r)
	return hostfunc.Lasting(labels, brought), err
}

// labelsOf are the labels that the tool has with what is granted.
func labelsOf(
	ctx context.Context, g *gate.Gate, host *hostfunc.Host, m capability.Manifest, r Request,
) ([]string, error) {
	rights, err := g.Rights(ctx, m, r.User)
	around := capability.Surroundings{LocalModel: host.LocalModels()}
	return capability.ToolLabels(m.Tool(r.Tool), rights, around), err
}

// manifestOf returns the manifest that a module is run with.
func manifestOf(r Request) (capability.Manifest, error) {
	manifest, _, err := guest.ReadManifest(r.WASM, "plugin")
	var bad *guest.Error
	if r.Manifest != nil && (err == nil || errors.As(err, &bad) && bad.Kind == guest.BadManifest) {
		return guest.ParseManifest(r.Manifest)
	}
	return manifest, err
}

func toolNamed(tools []guest.Listed, name string) (guest.Listed, error) {
	names := make([]string, len(tools))
	for i, t := range tools {
		if t.Name == name {
			return t, nil
		}
		names[i] = t.Name
	}
	return guest.Listed{}, &guest.Error{
		Kind:    guest.UnknownTool,
		Message: fmt.Sprintf("The plugin has no tool %q; it has %s.", name, strings.Join(names, ", ")),
	}
}
