//go:build !wasip1

package pdk

import "crypto/rand"

// Host serves host functions where the plugin runs natively, in tests. In a
// module there is no Host: there the functions are imports.
type Host interface {
	// Call serves a function: a block in, a block {"ok":…} or
	// {"error":{"kind","message"}} out.
	Call(function string, in []byte) []byte
}

// HostFunc is a Host made of a function.
type HostFunc func(function string, in []byte) []byte

// Call calls f.
func (f HostFunc) Call(function string, in []byte) []byte { return f(function, in) }

var (
	nativeHost   Host
	nativeLog    func(level, message string)
	nativeConfig map[string]string
)

// SetHost sets the Host for this process and returns what puts the former one
// back. Without a Host every function answers Unavailable. It exists outside
// Wasm only.
func SetHost(h Host) (restore func()) {
	before := nativeHost
	nativeHost = h
	return func() { nativeHost = before }
}

// SetLog sets what takes Log's messages in this process; nil drops them. It
// exists outside Wasm only.
func SetLog(f func(level, message string)) { nativeLog = f }

// SetConfig sets what Config reads in this process. It exists outside Wasm only.
func SetConfig(values map[string]string) { nativeConfig = values }

// ListTools is what the host gets from list_tools. It exists outside Wasm only.
func ListTools() ([]byte, error) { return listJSON() }

// CallTool is what the host gets from call_tool. It exists outside Wasm only.
func CallTool(input []byte) ([]byte, error) { return callJSON(input) }

func native(function string) func([]byte) []byte {
	return func(in []byte) []byte {
		if nativeHost == nil {
			return []byte(`{"error":{"kind":"unavailable","message":"There is no host: the plugin runs outside Wasm and no Host was set."}}`)
		}
		return nativeHost.Call(function, in)
	}
}

func hostKnowledgeSearch(in []byte) []byte { return native("knowledge_search")(in) }
func hostKnowledgeRead(in []byte) []byte   { return native("knowledge_read")(in) }
func hostKVGet(in []byte) []byte           { return native("kv_get")(in) }
func hostKVPut(in []byte) []byte           { return native("kv_put")(in) }
func hostKVDelete(in []byte) []byte        { return native("kv_delete")(in) }
func hostKVList(in []byte) []byte          { return native("kv_list")(in) }
func hostEmit(in []byte) []byte            { return native("emit")(in) }
func hostMemoryList(in []byte) []byte      { return native("memory_list")(in) }
func hostMemoryApply(in []byte) []byte     { return native("memory_apply")(in) }
func hostFileList(in []byte) []byte        { return native("file_list")(in) }
func hostFileRead(in []byte) []byte        { return native("file_read")(in) }
func hostModelComplete(in []byte) []byte   { return native("model_complete")(in) }
func hostHTTPFetch(in []byte) []byte       { return native("http_fetch")(in) }
func hostHTTPFetchAll(in []byte) []byte    { return native("http_fetch_all")(in) }

func hostLog(level, message string) {
	if nativeLog != nil {
		nativeLog(level, message)
	}
}

func hostConfig(key string) (string, bool) {
	v, ok := nativeConfig[key]
	return v, ok
}

func hostRandom(b []byte) { _, _ = rand.Read(b) } // it never returns an error
