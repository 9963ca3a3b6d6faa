package guesttest

import (
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// File is a file that no plugin can be made of.
type File struct {
	Name string
	WASM []byte
	// Kind is that of the error, Says a part of its sentence.
	Kind guest.Kind
	Says string
}

// BadFiles returns files that are refused; one is a part of whole, a plugin.
func BadFiles(t testing.TB, whole []byte) []File {
	good := Bad(Answers + `{"content":[]}`)
	only := func(name string) []byte {
		m := &wasmtest.Module{}
		m.Func(name, nil, 0)
		return m.Bytes()
	}
	foreign := &wasmtest.Module{}
	foreign.Import("wasi:filesystem", "open", nil, nil)
	return []File{
		{"empty", nil, guest.Corrupt, ""},
		{"text", []byte("this is not a module"), guest.Corrupt, ""},
		{"cut", whole[:len(whole)/2], guest.Corrupt, ""},
		{"cut in a section", good[:len(good)-3], guest.Corrupt, ""},
		{"unknown import", foreign.Bytes(), guest.Unsupported, "wasi:filesystem"},
		{"unknown field in the manifest", Packed(t, good,
			`{"manifest":1,"name":"a","version":"1","tools":{"bad":{"mergo":"q"}}}`), guest.BadManifest,
			"tools.bad.mergo"},
		{"manifest that is not JSON", Packed(t, good, `{`), guest.BadManifest, "JSON"},
		{"a command", only("_start"), guest.BadTools, "wasi-command"},
		{"nothing exported", only("x"), guest.Unsupported, "list_tools"},
		{"list is no JSON", BadWith("tools", Traps), guest.BadTools, "JSON"},
		{"no tools", BadWith(`{"tools":[]}`, Traps), guest.BadTools, "0 tools"},
		{"one name twice", BadWith(`{"tools":[{"name":"a"},{"name":"a"}]}`, Traps), guest.BadTools, "twice"},
		{"no name", BadWith(`{"tools":[{"description":"a"}]}`, Traps), guest.BadTools, "name"},
		{"schema is no object", BadWith(`{"tools":[{"name":"a","inputSchema":[]}]}`, Traps), guest.BadTools,
			"inputSchema"},
	}
}
