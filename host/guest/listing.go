package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// MaxTools is how many tools a module may have.
const MaxTools = 256

// The bounds of what list_tools may answer beside.
const (
	maxDescription = 16 << 10
	maxSchema      = 256 << 10
	listTimeout    = 10 * time.Second
)

// listCall is the name of the call that lists tools, in the record.
const listCall = "list_tools"

// Listed is one tool as list_tools names it.
type Listed struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// ListTools asks for a module's tools in a dry run: it has its configuration, and nothing is
// granted. It returns an *Error of kind BadTools or Unsupported where the module is at fault.
func ListTools(
	ctx context.Context, m Module, manifest capability.Manifest, config map[string]string,
) ([]Listed, error) {
	return listTools(ctx, m, manifest, engine.Call{Config: config})
}

// List asks for the module's tools with what was granted to it for nobody in particular. Its
// errors are those of ListTools, or of the record of the call.
func (c Call) List(ctx context.Context) ([]Listed, error) {
	c.Tool, c.Exposed = listCall, listCall
	in := tool.Invocation{CallID: listCall}
	g := c.Gate.Open(gate.CallInfo{
		Plugin: c.Manifest.Name, Version: c.Manifest.Version, Tool: listCall, Manifest: c.Manifest, CallID: listCall,
	}, hostfunc.Attachment{Report: Unseen{}})
	tools, err := listTools(ctx, c.Module, c.Manifest, engine.Call{
		Config: c.Config, Log: c.hear(in), HTTP: extismHTTP(g), Host: c.host(g, in),
	})
	outcome := "ok"
	if err != nil {
		outcome = string(tool.FailureFailed)
	}
	return tools, errors.Join(err, g.Close(outcome))
}

// listTools asks for a module's tools. call says what the module has for that.
func listTools(ctx context.Context, m Module, manifest capability.Manifest, call engine.Call) ([]Listed, error) {
	p, err := Protocol(m, manifest)
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

// parseTools reads the answer of list_tools. It returns an *Error of kind
// BadTools. Fields that it does not know are left out: hosts differ in them. fewest is how
// many tools it must name.
func parseTools(data []byte, fewest int) ([]Listed, error) {
	bad := func(format string, args ...any) error {
		return &Error{Kind: BadTools, Message: "The module's list of tools is wrong: " + fmt.Sprintf(format, args...)}
	}
	var list struct {
		Tools []Listed `json:"tools"`
	}
	if !utf8.Valid(data) {
		return nil, bad("it is not UTF-8.")
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, bad("it is not the protocol's JSON (%v).", err)
	}
	if len(list.Tools) < fewest || len(list.Tools) > MaxTools {
		return nil, bad("it names %d tools; %d to %d are allowed.", len(list.Tools), fewest, MaxTools)
	}
	seen := map[string]bool{}
	for i := range list.Tools {
		t := &list.Tools[i]
		switch {
		case t.Name == "" || len(t.Name) > 128:
			return nil, bad("the name of tool %d must have 1 to 128 characters.", i+1)
		case seen[t.Name]:
			return nil, bad("the tool %q is named twice.", t.Name)
		case len(t.Description) > maxDescription || len(t.Title) > maxDescription:
			return nil, bad("the description of %q is longer than %d bytes.", t.Name, maxDescription)
		case len(t.InputSchema) > maxSchema || len(t.OutputSchema) > maxSchema:
			return nil, bad("a schema of %q is longer than %d bytes.", t.Name, maxSchema)
		}
		seen[t.Name] = true
		if len(t.InputSchema) == 0 || bytes.Equal(t.InputSchema, []byte("null")) {
			t.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		if t.InputSchema[0] != '{' {
			return nil, bad("the inputSchema of %q is not an object.", t.Name)
		}
	}
	return list.Tools, nil
}
