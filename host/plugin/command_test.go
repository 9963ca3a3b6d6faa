package plugin_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/pack"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

func tarOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Typeflag: tar.TypeReg,
			Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withProgram installs the program as a plugin, with a file among its assets.
func withProgram(t *testing.T) *scene {
	t.Helper()
	s := open(t)
	wasm := guesttest.Packed(t, built.Command, fmt.Sprintf(guesttest.CommandManifest, `"assets":"bulkhead.assets",`))
	wasm, err := pack.WithSection(wasm, pack.SectionAssets,
		tarOf(t, map[string]string{"data/greeting.txt": "hello from the assets"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.install(t, map[string][]byte{"prog.wasm": wasm}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAProgramIsATool(t *testing.T) {
	s := withProgram(t)
	spec := s.tool(t, "upper").Spec()
	if spec.Title != "Upper" || spec.Description != "Writes a text large." ||
		string(spec.InputSchema) != `{"properties":{"text":{"type":"string"}},"required":["text"],"type":"object"}` {
		t.Errorf("spec %+v, schema %s", spec, spec.InputSchema)
	}
	if d := s.tool(t, "tree").Spec().Description; d != "A program." {
		t.Errorf("description %q", d)
	}
	cases := []struct{ tool, arguments, text string }{
		{"upper", `{"text":"a text"}`, "A TEXT"},
		{"arguments", `{"a":"x y","b":true,"c":{"k":1},"list":["p",2],"n":1.5}`,
			"[\"--in=x y\" \"true\" \"{\\\"k\\\":1}\" \"p\" \"2\" \"{keep}\" \"n=1.5\"]\n"},
		{"arguments", `{"a":"","list":[]}`, "[\"--in=\" \"{keep}\"]\n"},
		{"arguments", `{"b":null}`, "[\"{keep}\"]\n"},
		{"echo", `{"A":["B",1]}`, `{"A":["B",1]}`},
		{"exit", `{"code":"3"}`, "before\n"},
		{"read", `{"path":"/assets/data/greeting.txt"}`, "hello from the assets"},
		{"tree", `{"path":"/assets"}`, "/assets true\n/assets/data true\n/assets/data/greeting.txt false\n"},
		{"files", `{}`, "done\n"},
		{"write", `{"path":"/workspace/a.txt","text":"x"}`, "written"},
		{"tree", `{"path":"/workspace"}`, "/workspace true\n"}, // of the call before nothing is left
		{"raw", `{}`, "a\uFFFDb"},
	}
	for _, c := range cases {
		r := s.call(t, c.tool, c.arguments)
		if r.Failure != nil || r.Text != c.text {
			t.Errorf("%s %s: %q, failure %+v", c.tool, c.arguments, r.Text, r.Failure)
		}
		if r.Fuel == 0 {
			t.Errorf("%s: no fuel is reported", c.tool)
		}
	}
	if r := s.call(t, "echo", `{"A":1}`); string(r.Structured) != `{"A":1}` {
		t.Errorf("structured %s", r.Structured)
	}
}

func TestAProgramFailsInWords(t *testing.T) {
	s := withProgram(t)
	cases := []struct {
		tool, arguments string
		kind            tool.FailureKind
		says            string
	}{
		{"exit", `{"code":"7"}`, tool.FailureFailed, "exit code 7: the reason"},
		{"broken", `{}`, tool.FailureFailed, "panic: it broke"},
		{"read", `{"path":"/none"}`, tool.FailureFailed, "exit code 1: open /none"},
		{"write", `{"path":"/assets/new","text":"x"}`, tool.FailureFailed, "exit code 1: open /assets/new"},
		{"write", `{"path":"/new","text":"x"}`, tool.FailureFailed, "exit code 1: open /new"},
		{"read", `{"path":"a\u0000b"}`, tool.FailureInput, "zero byte"},
		{"upper", `[]`, tool.FailureInput, "not a JSON object"},
		{"flood", `{}`, tool.FailureTooLarge, "too large"},
		{"loop", `{}`, tool.FailureQuota, "computing budget"},
	}
	for _, c := range cases {
		r := s.call(t, c.tool, c.arguments)
		if r.Failure == nil || r.Failure.Kind != c.kind || r.Failure.Message == "" ||
			!strings.Contains(r.Text, c.says) {
			t.Errorf("%s %s: %q, failure %+v", c.tool, c.arguments, r.Text, r.Failure)
		}
	}
	if r := s.call(t, "echo", `{"a":nope}`); r.Failure == nil || r.Failure.Kind != tool.FailureInput {
		t.Errorf("%+v", r)
	}
}

// TestAWorkspaceIsGrantedAndHasAQuota fills the workspace, takes the grant back, and
// grants one that would have to be kept.
func TestAWorkspaceIsGrantedAndHasAQuota(t *testing.T) {
	s := withProgram(t)
	var written int
	r := s.call(t, "fill", `{}`)
	if _, err := fmt.Sscanf(r.Text, "%d", &written); err != nil || written < 200_000 || written > 300_000 {
		t.Errorf("%q, failure %+v", r.Text, r.Failure)
	}
	grant := func(g capability.Grant) {
		t.Helper()
		g.Capability = capability.Workspace
		if err := s.manager.SetGrant(t.Context(), anOperator, "prog", g); err != nil {
			t.Fatal(err)
		}
	}
	grant(capability.Grant{Mode: capability.Deny})
	if r := s.call(t, "write", `{"path":"/workspace/a","text":"x"}`); r.Failure == nil ||
		!strings.Contains(r.Text, "/workspace/a") {
		t.Errorf("without a grant: %q, %+v", r.Text, r.Failure)
	}
	grant(capability.Grant{Mode: capability.Allow})
	if r := s.call(t, "write", `{"path":"/workspace/a","text":"x"}`); r.Failure != nil {
		t.Errorf("with a grant: %q, %+v", r.Text, r.Failure)
	}
}

// TestAWorkspaceThatIsToBeKeptIsNotPretended calls for nobody in particular.
func TestAWorkspaceThatIsToBeKeptIsNotPretended(t *testing.T) {
	s := open(t)
	manifest := strings.Replace(fmt.Sprintf(guesttest.CommandManifest, ""), `"quota_bytes":300000`, `"persistent":true`,
		1)
	if err := s.install(t, map[string][]byte{"prog.wasm": guesttest.Packed(t, built.Command, manifest)}); err != nil {
		t.Fatal(err)
	}
	r := s.call(t, "files", `{}`, func(in *tool.Invocation) { in.User = "" })
	if r.Failure == nil || r.Failure.Kind != tool.FailureUnavailable ||
		!strings.Contains(r.Failure.Message, "persistent") {
		t.Errorf("%q, %+v", r.Text, r.Failure)
	}
}

func TestABadCommandIsRefusedWithASentence(t *testing.T) {
	with := func(tools string) []byte {
		return guesttest.Packed(t, built.Command, `{"manifest":1,"name":"prog","version":"1","protocol":"wasi-command","tools":`+tools+`}`)
	}
	assets := func(archive []byte) []byte {
		wasm := guesttest.Packed(t, built.Command,
			fmt.Sprintf(guesttest.CommandManifest, `"assets":"bulkhead.assets",`))
		if archive == nil {
			return wasm
		}
		wasm, err := pack.WithSection(wasm, pack.SectionAssets, archive)
		if err != nil {
			t.Fatal(err)
		}
		return wasm
	}
	cases := []struct {
		name string
		wasm []byte
		kind guest.Kind
		says string
	}{
		{"no manifest", built.Command, guest.BadTools, "wasi-command"},
		{"no tools", with(`{}`), guest.BadTools, "makes no tool"},
		{"a tool without wasi", with(`{"a":{}}`), guest.BadTools, "makes no tool"},
		{"no argv", with(`{"a":{"wasi":{"argv":[]}}}`), guest.BadManifest, "argv"},
		{"zero byte", with(`{"a":{"wasi":{"argv":["a\u0000"]}}}`), guest.BadManifest, "zero byte"},
		{"schema", with(`{"a":{"wasi":{"argv":["a"],"input_schema":{"type":"array"}}}}`), guest.BadManifest,
			"input_schema"},
		{"for all", with(`{"*":{"wasi":{"argv":["a"]}}}`), guest.BadManifest, "named"},
		{"another protocol", guesttest.Packed(t, built.Command,
			`{"manifest":1,"name":"prog","version":"1","protocol":"tools.v1"}`), guest.Unsupported,
			"describe and call"},
		{"assets that are not there", assets(nil), guest.BadManifest, "bulkhead.assets"},
		{"assets that are no archive", assets([]byte(strings.Repeat("no tar", 200))), guest.Corrupt, "tar"},
	}
	s := open(t)
	for _, c := range cases {
		err := s.install(t, map[string][]byte{"prog.wasm": c.wasm})
		t.Run(c.name, func(t *testing.T) {
			wantFault(t, err, c.kind)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want it to say %q", err, c.says)
			}
		})
	}
}
