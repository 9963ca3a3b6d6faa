//go:build wasip1

// Command servlet is a plugin of the protocol tools.v1, as mcp.run's servlets and the
// first plugins of hyper-mcp are: it exports describe and call.
package main

import (
	"encoding/json"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/guest/testdata/guest"
)

func main() {}

//go:wasmexport describe
func describe() int32 {
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	return guest.Output(map[string]any{"tools": []any{
		map[string]any{"name": "shout", "description": "Shouts a text.", "inputSchema": schema},
		map[string]any{"name": "picture", "description": "Draws.", "inputSchema": schema},
		map[string]any{"name": "refuse", "description": "Refuses.", "inputSchema": schema},
		map[string]any{"name": "break", "description": "Breaks.", "inputSchema": schema},
		map[string]any{"name": "request", "description": "Returns its request.", "inputSchema": schema},
	}})
}

//go:wasmexport call
func call() int32 {
	in := guest.Input()
	var r struct {
		Method string `json:"method"`
		Params struct {
			Name      string `json:"name"`
			Arguments struct {
				Text string `json:"text"`
			} `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(in, &r); err != nil {
		return guest.Fail(err.Error())
	}
	switch r.Params.Name {
	case "shout":
		return guest.Output(guest.Text(strings.ToUpper(r.Params.Arguments.Text)))
	case "picture":
		return guest.Output(map[string]any{"content": []any{
			map[string]any{"type": "text", "text": "A picture:", "annotations": nil, "data": nil, "mimeType": nil},
			map[string]any{"type": "image", "data": "aGk=", "mimeType": "image/png", "text": nil},
		}, "isError": nil})
	case "refuse":
		return guest.Output(map[string]any{"content": []any{map[string]any{"type": "text", "text": "no such word"}},
			"isError": true})
	case "request":
		return guest.Output(guest.Text(string(in)))
	}
	return guest.Fail("it is broken")
}
