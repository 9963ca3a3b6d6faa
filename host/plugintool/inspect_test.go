package plugintool_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/plugintool"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

func TestInspectSaysWhatAPluginIsAndWants(t *testing.T) {
	in, err := plugintool.Inspect(t.Context(), open(t).engine, built.Search)
	if err != nil {
		t.Fatal(err)
	}
	if in.Protocol != "tools.v2" || in.Size != len(built.Search) || len(in.SHA256) != 64 || len(in.Undeclared) != 0 {
		t.Errorf("inspection is %+v", in)
	}
	if len(in.HostFunctions) != 1 || in.HostFunctions[0].Name != "knowledge_search" ||
		in.HostFunctions[0].Capability != "knowledge" {
		t.Errorf("host functions are %v: the linker must keep only what is reached", in.HostFunctions)
	}
	if len(in.Asks) != 2 || in.Asks[1].Sentence != "search wants to read your documents." {
		t.Errorf("asks are %+v", in.Asks)
	}
	bare, err := plugintool.Inspect(t.Context(), open(t).engine, built.Probe)
	slices.Sort(bare.Undeclared)
	if err != nil || bare.Manifest != nil || !slices.Equal(bare.Undeclared, []string{"emit", "http", "kv", "model"}) {
		t.Errorf("without a manifest: %+v, %v", bare.Undeclared, err)
	}
}

func TestWhatIsNotServedYetIsSaid(t *testing.T) {
	s := open(t)
	wasm := guesttest.Packed(t, guesttest.Bad(guesttest.Answers),
		`{"manifest":1,"name":"bad","version":"1","capabilities":{"image":{},"kv":{}}}`)
	v := verify(t, s, wasm, plugintool.VerifyOptions{})
	want := []string{"This host does not serve the capability image yet: " +
		"a plugin that asks for it can be installed, and what it asks of image is refused."}
	if !v.Good() || !slices.Equal(v.Gaps, want) || !slices.Equal(v.Warnings, want) {
		t.Errorf("gaps %q, warnings %q, problems %q", v.Gaps, v.Warnings, v.Problems)
	}
	m := &wasmtest.Module{}
	m.Import("extism:host/user", "file_write", wasmtest.Types{wasmtest.I64}, wasmtest.Types{wasmtest.I64})
	m.Func("list_tools", nil, 0)
	m.Func("call_tool", nil, 0)
	in, err := plugintool.Inspect(t.Context(), s.engine, m.Bytes())
	if err != nil || len(in.Gaps) != 1 || !strings.Contains(in.Gaps[0], "the host function file_write yet") {
		t.Errorf("gaps %q, %v", in.Gaps, err)
	}
}
