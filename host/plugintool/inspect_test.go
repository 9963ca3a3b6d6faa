package plugintool_test

import (
	"slices"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/plugintool"
)

func TestInspectSaysWhatAPluginIsAndWants(t *testing.T) {
	in, err := plugintool.Inspect(t.Context(), open(t).engine, built.Search)
	if err != nil {
		t.Fatal(err)
	}
	if in.Protocol != "tools.v2" || in.Size != len(built.Search) || len(in.SHA256) != 64 || len(in.Undeclared) != 0 {
		t.Errorf("inspection is %+v", in)
	}
	if len(in.HostFunctions) != 1 || in.HostFunctions[0].Name != "knowledge_search" || in.HostFunctions[0].Capability != "knowledge" {
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
