package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/registry"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// spec describes a tool under the name that a model calls it by.
// brought are the labels of what it finds that was kept.
func spec(p *installed, l listedTool, name string, rights capability.Rights, around capability.Surroundings, brought []string) tool.Spec {
	e := p.manifest.Tool(l.Name)
	title := l.Title
	if title == "" {
		title = name
	}
	return tool.Spec{
		ID: tool.ID(p.record.Name, l.Name), Name: name, Builtin: p.record.Builtin,
		Plugin: p.record.Name, PluginVersion: p.record.Version, Title: title,
		Description: l.Description, InputSchema: l.InputSchema,
		Labels: joinLabels(capability.ToolLabels(e, rights, around), brought),
		Cites:  e.Cites, Merge: e.Merge, StreamArgs: e.StreamArgs, StopsLoop: e.StopsLoop,
		Needs: e.Needs, Reminder: e.Reminder, Reaches: reaches(rights),
	}
}

// reaches names the capabilities that are not denied, in a fixed order.
func reaches(rights capability.Rights) []string {
	var names []string
	for _, c := range capability.Catalogue() {
		if rights.Of(c.Name).Mode != capability.Deny {
			names = append(names, c.Name)
		}
	}
	return names
}

// guestTool is a tool of an installed plugin.
type guestTool struct {
	manager *Manager
	plugin  *installed
	// name is the module's own.
	name string
	spec tool.Spec
}

var _ tool.Tool = (*guestTool)(nil)

// Spec implements tool.Tool.
func (t *guestTool) Spec() tool.Spec { return t.spec }

// Call implements tool.Tool. A version that was replaced meanwhile is followed by
// its successor.
func (t *guestTool) Call(ctx context.Context, in tool.Invocation) (tool.Result, error) {
	p, lease, err := t.manager.lease(ctx, t.plugin)
	if err != nil {
		return t.unloadable(ctx, err), nil
	}
	defer lease.Release()
	if !p.catalogue.Load().offers(t.name) {
		return t.notOffered(), nil
	}
	config, err := t.manager.Configuration(p.record.Name)
	if err != nil {
		return t.unloadable(ctx, err), nil
	}
	c := guestCall{
		gate: t.manager.gate, module: lease, manifest: p.manifest, assets: p.assets, tool: t.name,
		title: t.spec.Title, exposed: t.spec.Name, config: config, logger: t.manager.config.Logger,
		changed: func() { t.manager.refresh(p) },
		folders: t.manager.config.Workspaces, marks: t.manager.marks,
		carries: func() ([]string, error) { return t.carries(ctx, p, in.User, in.Met) },
	}
	result, _ := c.run(ctx, in)
	return result, nil
}

// lease returns the right to call the plugin, or the version that has come in its place
// meanwhile: it is taken before anything of the call is done, so that a call finishes on
// the version that it began with.
func (m *Manager) lease(ctx context.Context, p *installed) (*installed, *engine.Lease, error) {
	for {
		lease, err := p.load(ctx, m.config.Engine, m.config.Registry)
		if !errors.Is(err, engine.ErrClosed) {
			return p, lease, err
		}
		next := m.current(p.record.Name)
		if next == nil || next == p {
			return p, nil, err
		}
		p = next
	}
}

func (m *Manager) current(name string) *installed {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.plugins[name]
}

// unloadable is the result of a call whose module cannot be had.
func (t *guestTool) unloadable(ctx context.Context, err error) tool.Result {
	if ctx.Err() != nil {
		return stopped(t.spec.Title)
	}
	t.manager.config.Logger.Error("a plugin cannot be loaded", "plugin", t.spec.Plugin, "error", err)
	why := "It cannot be loaded."
	var refused *engine.LoadError
	var corrupt *registry.CorruptError
	switch {
	case errors.As(err, &refused):
		why = refused.Message
	case errors.As(err, &corrupt):
		why = corrupt.Error()
	case errors.Is(err, engine.ErrClosed):
		why = "It was removed or the host is closing."
	}
	return tool.Fail(tool.FailureUnavailable, fmt.Sprintf("%s is not available. %s", t.spec.Title, why),
		fmt.Sprintf("The tool %s is not available now. Go on without it.", t.spec.Name))
}

// notOffered is the result of a call of a tool that was listed when the turn began, and is
// gone or another one now.
func (t *guestTool) notOffered() tool.Result {
	return tool.Fail(tool.FailureUnavailable,
		fmt.Sprintf("%s is not offered any more: the plugin %s has changed or removed it. A changed tool is offered again when an operator has looked at it.", t.spec.Title, t.spec.Plugin),
		fmt.Sprintf("The tool %s is not available any more. Go on without it.", t.spec.Name))
}

// callable is a module, or the right to call one.
type callable interface {
	spoken
	Call(ctx context.Context, call engine.Call) (engine.Outcome, error)
	Run(ctx context.Context, c engine.Command) (engine.CommandOutcome, error)
}

// guestCall is one call of a tool in a module.
type guestCall struct {
	gate     *gate.Gate
	module   callable
	manifest capability.Manifest
	// assets are the files that came with the plugin, nil for none.
	assets *files.Assets
	// tool is the module's own name of the tool, exposed what the model calls it,
	// title what a person reads.
	tool, exposed, title string
	config               map[string]string
	logger               *slog.Logger
	// folders are the kept workspaces, nil for none; marks keeps their labels, and carries
	// tells those of what the call stores at a moment, nil where nobody keeps track.
	folders *files.Kept
	marks   *marks
	carries func() ([]string, error)
	// changed is told when a dynamic plugin says that its tools are others now, nil where
	// nobody wants to know.
	changed func()
	// log takes what the guest logs, nil for the logger.
	log func(level, message string)
}

// run calls the tool. What went wrong is in the result.
func (c guestCall) run(ctx context.Context, in tool.Invocation) (tool.Result, engine.Outcome) {
	g := c.gate.Open(gate.CallInfo{
		Plugin: c.manifest.Name, Version: c.manifest.Version, Tool: c.tool, Manifest: c.manifest,
		CallID: in.CallID, Run: in.Run, Session: in.Session, User: in.User, Model: in.Model,
	})
	result, out := c.through(ctx, g, in)
	for _, h := range g.HostCalls() {
		result.HostCalls = append(result.HostCalls, tool.HostCall{
			Capability: h.Capability, Summary: h.Summary, Decision: string(h.Decision), Bytes: h.Bytes,
		})
	}
	result.Fuel = out.Fuel
	outcome := "ok"
	if result.Failure != nil {
		outcome = string(result.Failure.Kind)
	}
	if err := g.Close(outcome); err != nil {
		c.logger.Error("the end of a tool call cannot be recorded", "plugin", c.manifest.Name, "error", err)
	}
	return result, out
}

func (c guestCall) through(ctx context.Context, g *gate.Call, in tool.Invocation) (tool.Result, engine.Outcome) {
	if e := c.manifest.Tool(c.tool); e.Approval == capability.Deny || e.Approval == capability.Ask {
		if err := g.Approve(ctx, e.Approval, in.Arguments); err != nil {
			return tool.Fail(tool.FailureDenied, fmt.Sprintf("%s was not run: it needs an approval that was not given.", c.title),
				fmt.Sprintf("The tool %s was not run, because it was not approved. Go on without it.", c.exposed)), engine.Outcome{}
		}
	}
	return c.serve(ctx, g, in)
}

func (c guestCall) logTo(in tool.Invocation) func(level, message string) {
	return func(level, message string) {
		l := slog.LevelDebug
		switch level {
		case "info":
			l = slog.LevelInfo
		case "warn":
			l = slog.LevelWarn
		case "error":
			l = slog.LevelError
		}
		c.logger.Log(context.Background(), l, message, "plugin", c.manifest.Name, "tool", c.tool, "call", in.CallID)
	}
}

// input builds what call_tool reads. Beyond refs and now, the context has what
// the tool needs and the grant of capability context allows.
func (c guestCall) input(ctx context.Context, in tool.Invocation, args json.RawMessage) ([]byte, error) {
	meta := map[string]any{
		"bulkhead/refs": in.Refs,
		"bulkhead/now":  in.Now.UTC().Format(time.RFC3339),
	}
	needs := c.manifest.Tool(c.tool).Needs
	if len(needs) > 0 {
		rights, err := c.gate.Rights(ctx, c.manifest, in.User)
		if err != nil {
			c.logger.Error("rights cannot be read; the call gets no context", "plugin", c.manifest.Name, "error", err)
		}
		right := rights.Of(capability.Context)
		params, _ := right.Params.(*capability.ContextParams)
		if right.Mode == capability.Allow && params != nil {
			needs = slices.DeleteFunc(slices.Clone(needs), func(f string) bool { return !params.Has(f) })
			fillContext(meta, needs, in.Context)
		}
	}
	return json.Marshal(map[string]any{
		"request": map[string]any{"name": c.tool, "arguments": args},
		"context": map[string]any{"id": in.CallID, "_meta": meta},
	})
}

// object returns arguments that are a JSON object, {} for none.
func object(arguments json.RawMessage) (json.RawMessage, error) {
	args := bytes.TrimSpace(arguments)
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	if args[0] != '{' || !json.Valid(args) {
		return nil, errors.New("the arguments are not a JSON object")
	}
	return args, nil
}

func fillContext(meta map[string]any, fields []string, known tool.Context) {
	for _, f := range fields {
		switch f {
		case "query":
			meta["bulkhead/query"] = known.Query
		case "history":
			meta["bulkhead/history"] = slices.Concat([]tool.Turn{}, known.History)
		case "user":
			meta["bulkhead/user"] = map[string]string{"id": known.UserID, "locale": known.Locale, "time_zone": known.TimeZone}
		case "citations":
			citations := known.Citations
			if citations == nil {
				citations = map[string]int{}
			}
			meta["bulkhead/citations"] = citations
		}
	}
}
