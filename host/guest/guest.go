// Package guest speaks with modules: the protocols that they know (tools.v2, tools.v1, a
// WASI program, what hyper-mcp's plugins import), the list of a module's tools, and one call
// of one tool.
//
// Module bytes, a manifest and an invocation come in; listed tools, a tool.Result and typed
// errors go out. What a module asks of the host goes through the gate to the functions of
// host/hostfunc.
//
// It must not know which plugins are installed, who granted what, nor what becomes of a
// result.
package guest

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// Module is a module, or the right to call one.
type Module interface {
	spoken
	Call(ctx context.Context, call engine.Call) (engine.Outcome, error)
	Run(ctx context.Context, c engine.Command) (engine.CommandOutcome, error)
}

// Call is one call of a tool in a module. Gate, Host, Module, Manifest and Logger are
// required; so are the names, except for List.
type Call struct {
	Gate *gate.Gate
	// Host is what the gate's functions belong to.
	Host     *hostfunc.Host
	Module   Module
	Manifest capability.Manifest
	// Assets are the files that came with the plugin, nil for none.
	Assets *files.Assets
	// Tool is the module's own name of the tool, Exposed what the model calls it,
	// Title what a person reads.
	Tool, Exposed, Title string
	// Config is what the guest reads with config_get.
	Config map[string]string
	Logger *slog.Logger
	// Carries returns the labels of what the call stores at a moment, nil where nobody
	// keeps track.
	Carries func() ([]string, error)
	// Changed is told when a dynamic plugin says that its tools are others now, nil where
	// nobody wants to know.
	Changed func()
	// Log takes what the guest logs, nil for the logger.
	Log func(level, message string)
}

// Do calls the tool. What went wrong is in the result.
func (c Call) Do(ctx context.Context, in tool.Invocation) (tool.Result, engine.Outcome) {
	g := c.Gate.Open(gate.CallInfo{
		Plugin: c.Manifest.Name, Version: c.Manifest.Version, Tool: c.Tool, Manifest: c.Manifest,
		CallID: in.CallID, Run: in.Run, Session: in.Session, User: in.User, Model: in.Model,
	}, hostfunc.Attachment{Report: in.Report, Carries: c.Carries})
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
		c.Logger.Error("the end of a tool call cannot be recorded", "plugin", c.Manifest.Name, "error", err)
	}
	return result, out
}

func (c Call) through(ctx context.Context, g *gate.Call, in tool.Invocation) (tool.Result, engine.Outcome) {
	if e := c.Manifest.Tool(c.Tool); e.Approval == capability.Deny || e.Approval == capability.Ask {
		if err := g.Approve(ctx, e.Approval, in.Arguments); err != nil {
			refused := tool.Fail(tool.FailureDenied,
				fmt.Sprintf("%s was not run: it needs an approval that was not given.", c.Title),
				fmt.Sprintf("The tool %s was not run, because it was not approved. Go on without it.", c.Exposed))
			return refused, engine.Outcome{}
		}
	}
	return c.serve(ctx, g, in)
}

func (c Call) logTo(in tool.Invocation) func(level, message string) {
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
		c.Logger.Log(context.Background(), l, message, "plugin", c.Manifest.Name, "tool", c.Tool, "call", in.CallID)
	}
}
