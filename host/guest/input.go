package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// input builds what call_tool reads. Beyond refs and now, the context has what
// the tool needs and the grant of capability context allows.
func (c Call) input(ctx context.Context, in tool.Invocation, args json.RawMessage) ([]byte, error) {
	meta := map[string]any{
		"bulkhead/refs": in.Refs,
		"bulkhead/now":  in.Now.UTC().Format(time.RFC3339),
	}
	needs := c.Manifest.Tool(c.Tool).Needs
	if len(needs) > 0 {
		right, err := c.Gate.Right(ctx, c.Manifest, in.User, capability.Context)
		if err != nil {
			c.Logger.Error("rights cannot be read; the call gets no context", "plugin", c.Manifest.Name, "error", err)
		}
		params, _ := right.Params.(*capability.ContextParams)
		if right.Mode == capability.Allow && params != nil {
			needs = slices.DeleteFunc(slices.Clone(needs), func(f string) bool { return !params.Has(f) })
			fillContext(meta, needs, in.Context)
		}
	}
	return inputV2(c.Tool, in.CallID, args, meta)
}

// inputV2 is what call_tool of tools.v2 reads.
func inputV2(name, id string, args json.RawMessage, meta map[string]any) ([]byte, error) {
	return json.Marshal(map[string]any{
		"request": map[string]any{"name": name, "arguments": args},
		"context": map[string]any{"id": id, "_meta": meta},
	})
}

// inputV1 is what call of tools.v1 reads: the request of MCP, without a context.
func inputV1(name string, args json.RawMessage) ([]byte, error) {
	return json.Marshal(map[string]any{
		"method": "tools/call",
		"params": map[string]any{"name": name, "arguments": args},
	})
}

// BareInput is the input of a tool call in a protocol, outside of any conversation: the
// first refs are free, and it is now.
func BareInput(p engine.Protocol, name, id string, args json.RawMessage, now time.Time) ([]byte, error) {
	if p == engine.ToolsV1 {
		return inputV1(name, args)
	}
	return inputV2(name, id, args, map[string]any{
		"bulkhead/refs": tool.Refs{Start: 1, Count: 100}, "bulkhead/now": now.UTC().Format(time.RFC3339),
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
			meta["bulkhead/history"] = slices.Concat([]tool.Message{}, known.History)
		case "user":
			meta["bulkhead/user"] = map[string]string{
				"id": known.UserID, "locale": known.Locale, "time_zone": known.TimeZone,
			}
		case "citations":
			citations := known.Citations
			if citations == nil {
				citations = map[string]int{}
			}
			meta["bulkhead/citations"] = citations
		}
	}
}
