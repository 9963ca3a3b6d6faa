package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// spoken says which protocols a module speaks.
type spoken interface {
	Protocol() engine.Protocol
	Speaks(p engine.Protocol) bool
}

// protocol returns the protocol that a module is spoken to in: what its manifest names,
// if the module has the exports, and else what its exports show. It returns an *Error of
// kind Unsupported.
func protocol(m spoken, manifest capability.Manifest) (engine.Protocol, error) {
	shown := m.Protocol()
	switch want := engine.Protocol(manifest.Protocol); {
	case want == "" && shown == engine.Unknown:
		return "", &Error{Kind: Unsupported, Message: "The module exports no protocol of tools that is known. " +
			"A plugin exports list_tools and call_tool (tools.v2), describe and call (tools.v1), or _start (a WASI command)."}
	case want == "":
		return shown, nil
	case !m.Speaks(want):
		return "", &Error{Kind: Unsupported, Message: fmt.Sprintf(
			"The manifest says that the plugin speaks %s, but the module does not export %s.", want, exportsOf(want))}
	default:
		return want, nil
	}
}

// exportsOf says what a module of a protocol exports.
func exportsOf(p engine.Protocol) string {
	switch p {
	case engine.ToolsV2:
		return "list_tools and call_tool"
	case engine.ToolsV1:
		return "describe and call"
	default:
		return "_start"
	}
}

// listTools asks for a module's tools. call says what the module has for that: nothing at
// all for a dry run.
func listTools(ctx context.Context, m callable, manifest capability.Manifest, call engine.Call) ([]listedTool, error) {
	p, err := protocol(m, manifest)
	if err != nil {
		return nil, err
	}
	call.Limits = engine.Limits{Timeout: listTimeout}
	switch p {
	case engine.WASICommand:
		return commandTools(manifest)
	case engine.ToolsV1:
		call.Export = "describe"
	default:
		call.Export, call.Input = "list_tools", []byte(`{"context":{"id":"install","_meta":{}}}`)
	}
	out, err := m.Call(ctx, call)
	var failed *engine.CallError
	if errors.As(err, &failed) && ctx.Err() == nil {
		return nil, &Error{Kind: BadTools, Message: "The module cannot list its tools: " + failed.Message, cause: err}
	}
	if err != nil {
		return nil, fmt.Errorf("list the tools of a module: %w", err)
	}
	if p == engine.ToolsV1 {
		return parseTools(wrapSingle(out.Output), fewest(manifest))
	}
	return parseTools(out.Output, fewest(manifest))
}

// fewest is how many tools a plugin has at least: one whose tools depend on configuration may
// have none before it is configured.
func fewest(m capability.Manifest) int {
	if m.Dynamic {
		return 0
	}
	return 1
}

// wrapSingle makes a list of the one tool that early servlets describe themselves as.
func wrapSingle(data []byte) []byte {
	var one struct {
		Tools json.RawMessage `json:"tools"`
		Name  string          `json:"name"`
	}
	if err := json.Unmarshal(data, &one); err != nil || one.Tools != nil || one.Name == "" {
		return data // parseTools says what is wrong
	}
	list, err := json.Marshal(map[string]any{"tools": []json.RawMessage{data}})
	if err != nil {
		return data
	}
	return list
}

// serve makes the call in the module's protocol.
func (c guestCall) serve(ctx context.Context, g *gate.Call, in tool.Invocation) (tool.Result, engine.Outcome) {
	p, err := protocol(c.module, c.manifest)
	if err != nil {
		return c.failed(ctx, err), engine.Outcome{}
	}
	args, err := object(in.Arguments)
	if err != nil {
		return tool.Fail(tool.FailureInput, fmt.Sprintf("%s got arguments that are not a JSON object.", c.title),
			fmt.Sprintf("The arguments of %s are not a JSON object. Write an object such as {\"name\":\"value\"}, as its schema says.", c.exposed)), engine.Outcome{}
	}
	mounts, close, refused := c.mounts(ctx, in.User)
	if refused != nil {
		return *refused, engine.Outcome{}
	}
	defer func() {
		if err := close(); err != nil {
			c.logger.Error("a kept folder cannot be closed", "plugin", c.manifest.Name, "error", err)
		}
	}()
	call := engine.Call{Config: c.config, Log: c.hear(in), HTTP: extismHTTP(g), Host: c.host(g, in), Mounts: mounts}
	switch p {
	case engine.WASICommand:
		return c.command(ctx, args, call)
	case engine.ToolsV1:
		call.Export = "call"
		call.Input, err = c.inputV1(args)
	default:
		call.Export = "call_tool"
		call.Input, err = c.input(ctx, in, args)
	}
	if err != nil { // arguments that were JSON encode again
		return c.failed(ctx, err), engine.Outcome{}
	}
	out, err := c.module.Call(ctx, call)
	if err != nil {
		return c.failed(ctx, err), out
	}
	return c.result(out.Output), out
}

// inputV1 builds what call of tools.v1 reads: the request of MCP, without a context.
func (c guestCall) inputV1(args json.RawMessage) ([]byte, error) {
	return json.Marshal(map[string]any{
		"method": "tools/call",
		"params": map[string]any{"name": c.tool, "arguments": args},
	})
}

// hear returns where the guest's log goes.
func (c guestCall) hear(in tool.Invocation) func(level, message string) {
	if c.log != nil {
		return c.log
	}
	return c.logTo(in)
}

// host returns the functions of extism:host/user for one call.
func (c guestCall) host(g *gate.Call, in tool.Invocation) func(name string) engine.HostFunc {
	foreign := hyper{call: c, gate: g, log: c.hear(in)}
	return func(name string) engine.HostFunc {
		if f := foreign.function(name); f != nil {
			return f
		}
		return g.Host(name)
	}
}
