package plugintool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/plugintool"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// verify checks a module that can be loaded.
func verify(t *testing.T, s *scene, wasm []byte, o plugintool.VerifyOptions) plugintool.Verification {
	t.Helper()
	v, err := plugintool.Verify(t.Context(), s.engine, wasm, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// compared says of each call whether it is the same.
func compared(v plugintool.Verification) string {
	var list []string
	for _, c := range v.Compared {
		switch {
		case c.Unsteady:
			list = append(list, c.Call+" unsteady")
		case len(c.Differences) > 0:
			list = append(list, c.Call+" differs: "+strings.Join(c.Differences, "; "))
		default:
			list = append(list, c.Call+" same")
		}
	}
	return strings.Join(list, ", ")
}

func TestAPluginIsTheSameUnderTheReference(t *testing.T) {
	s := open(t)
	cases := map[string]struct {
		wasm      []byte
		arguments map[string]json.RawMessage
		want      string
	}{
		"a built-in one, portable": {built.Portable,
			map[string]json.RawMessage{"internal_search": json.RawMessage(`{"queries":["a"]}`)},
			"list_tools same, internal_search same"},
		"with an example":         {built.Portable, nil, "list_tools same, internal_search same"},
		"of the first protocol":   {built.Servlet, nil, ""},
		"with all of hyper-mcp's": {built.Hyper, nil, "list_tools same, ask same"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v := verify(t, s, c.wasm, plugintool.VerifyOptions{Reference: true, Arguments: c.arguments})
			got := compared(v)
			if !v.Good() || len(v.Compared) != len(v.Tools)+1 || strings.Contains(got, "differs") || c.want != "" &&
				got != c.want {
				t.Errorf("%s; problems %q", got, v.Problems)
			}
		})
	}
}

// differing is a plugin with one tool, t, that does what body says.
func differing(body func(b *w.Module, f map[string]uint32) [][]byte) []byte {
	var b w.Module
	f := map[string]uint32{}
	i64, i32 := w.Types{wasmbin.I64}, w.Types{wasmbin.I32}
	f["alloc"] = b.Import("extism:host/env", "alloc", i64, i64)
	f["store_u64"] = b.Import("extism:host/env", "store_u64", w.Types{wasmbin.I64, wasmbin.I64}, nil)
	f["store_u8"] = b.Import("extism:host/env", "store_u8", w.Types{wasmbin.I64, wasmbin.I32}, nil)
	f["output_set"] = b.Import("extism:host/env", "output_set", w.Types{wasmbin.I64, wasmbin.I64}, nil)
	f["input_set"] = b.Import("extism:host/env", "input_set", w.Types{wasmbin.I64, wasmbin.I64}, nil)
	f["input_load_u64"] = b.Import("extism:host/env", "input_load_u64", i64, i64)
	list := `{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"}}]}`
	say := func(text string) (code [][]byte) {
		code = append(code, w.Const64(int64(len(text))), w.Call(f["alloc"]), w.Set(0))
		for i := range len(text) {
			code = append(code, w.Get(0), w.Const64(int64(i)), w.Add64, w.Const32(int32(text[i])),
				w.Call(f["store_u8"]))
		}
		return append(code, w.Get(0), w.Const64(int64(len(text))), w.Call(f["output_set"]))
	}
	b.Func("list_tools", i32, 1, append(say(list), w.Const32(0))...)
	b.Func("call_tool", i32, 1, body(&b, f)...)
	return b.Bytes()
}

func TestADifferenceIsNamed(t *testing.T) {
	s := open(t)
	// After input_set, input_load_u64 reads what was set here, and the call's own input
	// under the SDK.
	quirk := differing(func(_ *w.Module, f map[string]uint32) [][]byte {
		return [][]byte{
			w.Const64(8), w.Call(f["alloc"]), w.Set(0), w.Get(0), w.Const64(0x3131313131313131), w.Call(f["store_u64"]),
			w.Get(0), w.Const64(8), w.Call(f["input_set"]),
			w.Get(0), w.Const64(0), w.Call(f["input_load_u64"]), w.Call(f["store_u64"]),
			w.Get(0), w.Const64(8), w.Call(f["output_set"]), w.Const32(0),
		}
	})
	v := verify(t, s, quirk, plugintool.VerifyOptions{Reference: true})
	if v.Good() || !strings.Contains(compared(v), `t differs: output from byte 0 on: "11111111" here, "{`) {
		t.Errorf("%s", compared(v))
	}
	fails := differing(func(*w.Module, map[string]uint32) [][]byte { return [][]byte{w.Const32(3)} })
	if v := verify(t, s, fails, plugintool.VerifyOptions{Reference: true}); compared(v) != "list_tools same, t same" {
		t.Errorf("an exit code of 3: %s", compared(v))
	}
}

func TestWhatCannotBeComparedIsSaid(t *testing.T) {
	s := open(t)
	v := verify(t, s, built.Search, plugintool.VerifyOptions{Reference: true})
	if v.Good() || len(v.Compared) != 0 || !strings.Contains(fmt.Sprint(v.Problems), "-tags portable") {
		t.Errorf("%+v", v)
	}
	command := guesttest.Packed(t, built.Command, fmt.Sprintf(guesttest.CommandManifest, ""))
	if v := verify(t, s, command, plugintool.VerifyOptions{Reference: true}); v.Good() ||
		!strings.Contains(fmt.Sprint(v.Problems), "no Extism plugin") {
		t.Errorf("%+v", v.Problems)
	}
	if v := verify(t, s, command, plugintool.VerifyOptions{}); !v.Good() || len(v.Tools) < 10 {
		t.Errorf("%+v", v)
	}
}

func TestWhatDoesNotFitTogetherIsFound(t *testing.T) {
	s := open(t)
	manifest := func(rest string) []byte {
		return guesttest.Packed(t, built.Dynamic, `{"manifest":1,"name":"dyn","version":"1"`+rest+`}`)
	}
	cases := map[string]struct {
		wasm     []byte
		problem  string
		warning  string
		argument map[string]json.RawMessage
	}{
		"an entry for no tool": {manifest(`,"dynamic":true,"capabilities":{"kv":{}},"tools":{"x":{}}`), "",
			`"x"`, nil},
		"no tools":                   {manifest(""), "names 0 tools", "", nil},
		"a capability not asked for": {manifest(`,"dynamic":true`), "", "uses kv", nil},
		"no manifest":                {built.Hyper, "", "no manifest", nil},
		"arguments for no tool": {built.Hyper, `"none"`, "",
			map[string]json.RawMessage{"none": json.RawMessage(`{}`)}},
		"an entry for no tool, static": {guesttest.Packed(t, built.Hyper,
			`{"manifest":1,"name":"h","version":"1","tools":{"x":{}}}`), `"x"`, "", nil},
		"a signature": {wasmbin.AppendCustom(append([]byte(nil), built.Hyper...), "signature", []byte{1}), "",
			"does not check signatures", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v := verify(t, s, c.wasm, plugintool.VerifyOptions{Arguments: c.argument})
			if v.Good() != (c.problem == "") || !strings.Contains(strings.Join(v.Problems, " "), c.problem) ||
				!strings.Contains(strings.Join(v.Warnings, " "), c.warning) {
				t.Errorf("problems %q, warnings %q", v.Problems, v.Warnings)
			}
		})
	}
	twice := wasmbin.AppendCustom(manifest(""), "bulkhead.manifest", []byte("{}"))
	_, err := plugintool.Verify(t.Context(), s.engine, twice, plugintool.VerifyOptions{})
	wantFault(t, err, guest.Corrupt)
	_, err = plugintool.Verify(t.Context(), s.engine, manifest(`,"dynamik":true`), plugintool.VerifyOptions{})
	wantFault(t, err, guest.BadManifest)
}
