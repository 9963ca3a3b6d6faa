package guesttest

import (
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/pack"
)

// ProbeManifest is one for Modules.Probe.
const ProbeManifest = `{"manifest":1,"name":"probe","version":"1","capabilities":{
	"kv":{"quota_bytes":100},"emit":{},"context":{"fields":["query","user"]}},
	"limits":{"output_bytes":10000},
	"tools":{"context":{"needs":["query","history","user"]},"fail":{"approval":"deny"},"count":{"approval":"ask"}}}`

// CommandManifest makes tools of Modules.Command; its %s takes further fields.
const CommandManifest = `{"manifest":1,"name":"prog","version":"1","description":"A program.","protocol":"wasi-command",
 %s
 "capabilities":{"workspace":{"quota_bytes":300000}},
 "limits":{"output_bytes":50000,"timeout_ms":60000,"fuel":2000000000},
 "tools":{
  "arguments":{"wasi":{"argv":["prog","args","--in={a}","{b}","{c}","{list}","{keep}","n={n}"],
    "input_schema":{"type":"object","properties":{"a":{"type":"string"},"b":{},"c":{},"list":{"type":"array"},"n":{"type":"number"}}}}},
  "upper":{"wasi":{"title":"Upper","description":"Writes a text large.","argv":["prog","upper"],"stdin":"text"}},
  "echo":{"wasi":{"argv":["prog","upper"],"stdin":"arguments","stdout":"json"}},
  "exit":{"wasi":{"argv":["prog","exit","{code}"],"ok_exit_codes":[0,3]}},
  "write":{"wasi":{"argv":["prog","write","{path}","{text}"]}},
  "read":{"wasi":{"argv":["prog","read","{path}"]}},
  "tree":{"wasi":{"argv":["prog","tree","{path}"]}},
  "files":{"wasi":{"argv":["prog","files","/workspace"]}},
  "fill":{"wasi":{"argv":["prog","fill","/workspace"]}},
  "hold":{"wasi":{"argv":["prog","hold","/workspace"]}},
  "grow":{"wasi":{"argv":["prog","grow","/workspace"]}},
  "flood":{"wasi":{"argv":["prog","flood"]}},
  "loop":{"wasi":{"argv":["prog","loop"]}},
  "broken":{"wasi":{"argv":["prog","panic"]}},
  "raw":{"wasi":{"argv":["prog","raw"]}}
 }}`

// Packed puts a manifest into a module.
func Packed(t testing.TB, wasm []byte, manifest string) []byte {
	t.Helper()
	out, err := pack.WithSection(wasm, pack.SectionManifest, []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
