//go:build wasip1

// Command hyper is a plugin of the protocol tools.v2 that imports all of hyper-mcp's host
// functions and calls each of them.
package main

import (
	"encoding/json"

	"github.com/bulkhead-host/bulkhead/host/guest/testdata/guest"
)

//go:wasmimport extism:host/user create_elicitation
func createElicitation(uint64) uint64

//go:wasmimport extism:host/user create_message
func createMessage(uint64) uint64

//go:wasmimport extism:host/user list_roots
func listRoots() uint64

//go:wasmimport extism:host/user notify_logging_message
func notifyLoggingMessage(uint64)

//go:wasmimport extism:host/user notify_progress
func notifyProgress(uint64)

//go:wasmimport extism:host/user notify_prompt_list_changed
func notifyPromptListChanged()

//go:wasmimport extism:host/user notify_resource_list_changed
func notifyResourceListChanged()

//go:wasmimport extism:host/user notify_resource_updated
func notifyResourceUpdated(uint64)

//go:wasmimport extism:host/user notify_tool_list_changed
func notifyToolListChanged()

//go:wasmimport extism:host/user notify_url_elicitation_completed
func notifyURLElicitationCompleted(uint64)

//go:wasmimport extism:host/user get_keyring_secret
func getKeyringSecret(uint64) uint64

//go:wasmimport extism:host/user get_access_token
func getAccessToken(uint64) uint64

func main() {}

//go:wasmexport list_tools
func listTools() int32 {
	return guest.Output(map[string]any{"tools": []any{
		map[string]any{"name": "ask", "description": "Asks the host.", "inputSchema": map[string]any{"type": "object"}},
	}})
}

//go:wasmexport call_tool
func callTool() int32 {
	var r struct {
		Request struct {
			Arguments map[string]json.RawMessage `json:"arguments"`
		} `json:"request"`
	}
	if err := json.Unmarshal(guest.Input(), &r); err != nil {
		return guest.Fail(err.Error())
	}
	block := func(name string) uint64 { return guest.Put(r.Request.Arguments[name]) }
	notifyProgress(block("progress"))
	notifyLoggingMessage(block("log"))
	notifyPromptListChanged()
	notifyResourceListChanged()
	notifyResourceUpdated(guest.Put([]byte(`{"uri":"x:y"}`)))
	notifyURLElicitationCompleted(guest.Put([]byte(`{"elicitationId":"1"}`)))
	notifyToolListChanged()
	return guest.Output(guest.Text(string(mustJSON(map[string]string{
		"message":     string(guest.Get(createMessage(block("message")))),
		"elicitation": string(guest.Get(createElicitation(guest.Put([]byte(`{"message":"Which town?","requestedSchema":{}}`))))),
		"roots":       string(guest.Get(listRoots())),
		"secret":      string(guest.Get(getKeyringSecret(guest.Put([]byte(`{"service":"s","user":"u"}`))))),
		"token":       string(guest.Get(getAccessToken(guest.Put([]byte(`{}`))))),
	}))))
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
