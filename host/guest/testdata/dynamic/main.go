//go:build wasip1

// Command dynamic is a plugin of the protocol tools.v2 whose tools depend on its
// configuration (the key tools names them), on a value of its own (the key about is the end
// of their descriptions) and so on what it was granted.
package main

import (
	"encoding/json"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/guest/testdata/guest"
)

//go:wasmimport extism:host/env config_get
func configGet(uint64) uint64

//go:wasmimport extism:host/user kv_get
func kvGet(uint64) uint64

//go:wasmimport extism:host/user kv_put
func kvPut(uint64) uint64

//go:wasmimport extism:host/user notify_tool_list_changed
func notifyToolListChanged()

func main() {}

func config(key string) string {
	off := configGet(guest.Put([]byte(key)))
	if off == 0 {
		return ""
	}
	return string(guest.Get(off))
}

// about returns the end of descriptions, or why there is none.
func about() string {
	var answer struct {
		OK    *struct{ Value string }
		Error *struct{ Kind string }
	}
	if err := json.Unmarshal(guest.Get(kvGet(guest.Put([]byte(`{"key":"about"}`)))), &answer); err != nil {
		return err.Error()
	}
	if answer.Error != nil {
		return answer.Error.Kind
	}
	return answer.OK.Value
}

//go:wasmexport list_tools
func listTools() int32 {
	notifyToolListChanged() // a list that says that it has changed must not begin anew
	tools := []any{}
	for _, name := range strings.Fields(config("tools")) {
		tools = append(tools, map[string]any{"name": name, "description": name + ": " + about(),
			"inputSchema": map[string]any{"type": "object"}})
	}
	return guest.Output(map[string]any{"tools": tools})
}

//go:wasmexport call_tool
func callTool() int32 {
	var r struct {
		Request struct {
			Arguments struct {
				About *string
				// Announce is how often to say that the list has changed, and no more.
				Announce int
			}
		}
	}
	if err := json.Unmarshal(guest.Input(), &r); err != nil {
		return guest.Fail(err.Error())
	}
	for range r.Request.Arguments.Announce {
		notifyToolListChanged()
	}
	if r.Request.Arguments.About == nil {
		return guest.Output(guest.Text("configured with " + config("tools")))
	}
	put, err := json.Marshal(map[string]string{"key": "about", "value": *r.Request.Arguments.About})
	if err != nil {
		return guest.Fail(err.Error())
	}
	answer := guest.Get(kvPut(guest.Put(put)))
	notifyToolListChanged()
	notifyToolListChanged()
	return guest.Output(guest.Text(string(answer)))
}
