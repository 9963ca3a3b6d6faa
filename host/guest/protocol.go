package guest

import (
	"context"
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

// Protocol returns the protocol that a module is spoken to in: what its manifest names,
// if the module has the exports, and else what its exports show. It returns an *Error of
// kind Unsupported.
func Protocol(m spoken, manifest capability.Manifest) (engine.Protocol, error) {
	shown := m.Protocol()
	switch want := engine.Protocol(manifest.Protocol); {
	case want == "" && shown == engine.Unknown:
		return "", &Error{Kind: Unsupported, Message: "The module exports no protocol of tools that is known. " +
			"A plugin exports list_tools and call_tool (tools.v2), describe and call (tools.v1), or _start (a WASI " +
			"command)."}
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

// serve makes the call in the module's protocol.
func (c Call) serve(ctx context.Context, g *gate.Call, in tool.Invocation) (tool.Result, engine.Outcome) {
	p, err := Protocol(c.Module, c.Manifest)
	if err != nil {
		return c.failed(ctx, err), engine.Outcome{}
	}
	args, err := object(in.Arguments)
	if err != nil {
		return tool.Fail(tool.FailureInput, fmt.Sprintf("%s got arguments that are not a JSON object.", c.Title),
			fmt.Sprintf("The arguments of %s are not a JSON object. "+
				"Write an object such as {\"name\":\"value\"}, as its schema says.", c.Exposed)), engine.Outcome{}
	}
	mounts, close, refused := c.mounts(ctx, in.User)
	if refused != nil {
		return *refused, engine.Outcome{}
	}
	defer func() {
		if err := close(); err != nil {
			c.Logger.Error("a kept folder cannot be closed", "plugin", c.Manifest.Name, "error", err)
		}
	}()
	call := engine.Call{Config: c.Config, Log: c.hear(in), HTTP: extismHTTP(g), Host: c.host(g, in), Mounts: mounts}
	switch p {
	case engine.WASICommand:
		return c.command(ctx, args, call)
	case engine.ToolsV1:
		call.Export = "call"
		call.Input, err = inputV1(c.Tool, args)
	default:
		call.Export = "call_tool"
		call.Input, err = c.input(ctx, in, args)
	}
	if err != nil { // arguments that were JSON encode again
		return c.failed(ctx, err), engine.Outcome{}
	}
	out, err := c.Module.Call(ctx, call)
	if err != nil {
		return c.failed(ctx, err), out
	}
	return c.result(out.Output), out
}

// hear returns where the guest's log goes.
func (c Call) hear(in tool.Invocation) func(level, message string) {
	if c.Log != nil {
		return c.Log
	}
	return c.logTo(in)
}

// host returns the functions of extism:host/user for one call.
func (c Call) host(g *gate.Call, in tool.Invocation) func(name string) engine.HostFunc {
	foreign := hyper{call: c, gate: g, log: c.hear(in)}
	return func(name string) engine.HostFunc {
		if f := foreign.function(name); f != nil {
			return f
		}
		return g.Host(name)
	}
}
