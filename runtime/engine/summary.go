package engine

import "github.com/bulkhead-host/bulkhead/runtime/wasmbin"

// summary is what the engine has to know of a module beside the code that the compiler
// makes of it. It holds none of the module's bytes.
type summary struct {
	Imports []wasmbin.Import
	Exports []wasmbin.Export
	// Memory is nil for a module without one; its bounds are those of the original.
	Memory  *wasmbin.Bounds
	Globals []wasmbin.Global
	// Steady tells that no instruction changes a table or drops a segment.
	Steady bool
	// Code is where the compiled code is in the cache's folder, for an entry whose module
	// is hollow; "" for one with its code.
	Code string `json:",omitempty"`
}

// summarize returns what the engine keeps of a module that is valid.
func summarize(info *wasmbin.Module) *summary {
	return &summary{
		Imports: info.Imports, Exports: info.Exports, Memory: info.Memory, Globals: info.Globals,
		Steady: wasmbin.Steady(info),
	}
}

// Export returns the export of that name and kind.
func (s *summary) Export(name string, kind wasmbin.ExternKind) (wasmbin.Export, bool) {
	for _, e := range s.Exports {
		if e.Name == name && e.Kind == kind {
			return e, true
		}
	}
	return wasmbin.Export{}, false
}

// protocol returns the protocol that the exports show.
func (s *summary) protocol() Protocol {
	for _, p := range []Protocol{ToolsV2, ToolsV1, WASICommand} {
		if s.speaks(p) {
			return p
		}
	}
	return Unknown
}

// speaks reports whether the exports of a protocol are there.
func (s *summary) speaks(p Protocol) bool {
	has := func(name string) bool {
		_, ok := s.Export(name, wasmbin.ExternFunc)
		return ok
	}
	switch p {
	case ToolsV2:
		return has("list_tools") && has("call_tool")
	case ToolsV1:
		return has("describe") && has("call")
	case WASICommand:
		return has("_start")
	}
	return false
}
