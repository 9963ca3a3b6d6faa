//go:build !race

// The race detector makes the compiler of Wasm many times slower, and nothing here is
// concurrent.

package reference_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/reference"
)

// step is one call of an export.
type step struct{ export, input string }

// subject is one module of the SDK with the calls that the SDK's own tests make, in one
// instance. want are the outputs, for the author of the next case: the test compares
// with the SDK itself as well.
type subject struct {
	module    string
	name      string
	config    map[string]string
	functions []reference.Function
	steps     []step
	want      []string
	// code is the exit code of the last call.
	code uint32
	text string
}

var subjects = []subject{
	{module: "alloc.wasm", steps: []step{{"run_test", ""}, {"run_test", ""}}, want: []string{"", ""}},
	{module: "config.wasm", name: "set", config: map[string]string{"thing": "hello"},
		steps: []step{{"run_test", ""}}, want: []string{`{"config": "hello"}`}},
	{module: "config.wasm", name: "unset", steps: []step{{"run_test", ""}},
		want: []string{`{"config": "<unset by host>"}`}},
	{module: "count_vowels.wasm",
		steps: []step{{"count_vowels", "aaa"}, {"count_vowels", "bbba"}, {"count_vowels", ""},
			{"count_vowels", "hello world"}},
		want: []string{`{"count":3,"total":3,"vowels":"aeiouAEIOU"}`, `{"count":1,"total":4,"vowels":"aeiouAEIOU"}`,
			`{"count":0,"total":4,"vowels":"aeiouAEIOU"}`, `{"count":3,"total":7,"vowels":"aeiouAEIOU"}`}},
	{module: "count_vowels_std.wasm", steps: []step{{"_start", "hello world"}},
		want: []string{`{"count": 3, "config": "<unset by host>", "a": "this is var a"}`}},
	{module: "exit.wasm", name: "minus one", config: map[string]string{"code": "-1"}, steps: []step{{"_start", ""}},
		want: []string{""}, code: 0xffffffff},
	{module: "exit.wasm", name: "500", config: map[string]string{"code": "500"}, steps: []step{{"_start", ""}},
		want: []string{""}, code: 500},
	{module: "exit.wasm", name: "no number", config: map[string]string{"code": "abc"}, steps: []step{{"_start", ""}},
		want: []string{""}, code: 1},
	{module: "exit.wasm", name: "unset", steps: []step{{"_start", ""}}, want: []string{""}, code: 2},
	{module: "fail.wasm", steps: []step{{"run_test", ""}}, want: []string{""}, code: 1, text: "Some error message"},
	{module: "hello.wasm", steps: []step{{"run_test", ""}, {"run_test", ""}},
		want: []string{"Hello, world!", "Hello, world!"}},
	{module: "hello_haskell.wasm", config: map[string]string{"greeting": "Howdy"},
		steps: []step{{"testing", "John"}, {"testing", "Ann"}}, want: []string{"Howdy, John", "Howdy, Ann"}},
	{module: "host.wasm", functions: []reference.Function{{Name: "mult", Params: 2, Numbers: func(p []uint64) uint64 {
		return uint64(uint32(int32(p[0]) * int32(p[1])))
	}}}, steps: []step{{"run_test", ""}}, want: []string{"42 x 2 = 84"}},
	{module: "host_multiple.wasm", functions: []reference.Function{
		blocks("hostGreenMessage", func(in []byte) []byte { return append([]byte("green:"), in...) }),
		blocks("hostPurpleMessage", func(in []byte) []byte { return append([]byte("purple:"), in...) }),
	}, steps: []step{{"say_green", "John Doe"}, {"say_purple", "Jane Doe"}},
		want: []string{"green:🫱 Hey from say_green John Doe", "purple:👋 Hello from say_purple Jane Doe"}},
	{module: "input_offset.wasm", steps: []step{{"input_offset_length", "hello world"}},
		want: []string{"\x0b\x00\x00\x00\x00\x00\x00\x00"}},
	{module: "lib.wasm", name: "alone", steps: []step{{"_start", ""}}, want: []string{""}},
	{module: "log.wasm", steps: []step{{"run_test", ""}}, want: []string{""}},
	{module: "noop.wasm", steps: []step{{"run_test", ""}, {"run_test", "x"}}, want: []string{"", ""}},
	{module: "println.wasm", steps: []step{{"run_test", "hi"}}, want: []string{""}},
	{module: "replace.wasm", steps: []step{{"run_test", "a test, a contest, a TEST"}, {"run_test", ""},
		{"run_test", strings.Repeat("BYwn test ", 3000)}},
		want: []string{"a wasm, a conwasm, a TEST", "", strings.Repeat("BYwn wasm ", 3000)}},
	{module: "sleep.wasm", config: map[string]string{"duration": "0"}, steps: []step{{"run_test", ""}},
		want: []string{"slept for 0 seconds"}},
	{module: "std_command.wasm", steps: []step{{"_start", "ben"}}, want: []string{"hello ben"}},
	{module: "var.wasm", name: "unset", steps: []step{{"run_test", ""}}, want: []string{"a: 0"}},
}

// differences are the modules that this loader treats otherwise on purpose. Each has a
// test below or is refused at load with a sentence that holds the words.
var differences = map[string]string{
	"http.wasm":           "http_request that is denied is a status and not a trap",
	"http_headers.wasm":   "http_request that is denied is a status and not a trap",
	"host_memory.wasm":    "a plugin imports from extism:host/user only; the module imports from \"host\"",
	"main.wasm":           "a plugin is one file: its imports are the host's and not another module's",
	"nested.c.instr.wasm": "the module is instrumented for an observer that is not here",
}

// elsewhere are the modules whose case is a test of its own.
var elsewhere = []string{"var.wasm", "fs.wasm", "fs_std.wasm", "read_write.wasm"}

func TestModulesOfTheSDKRunTheSame(t *testing.T) {
	for _, s := range subjects {
		t.Run(s.module+"/"+s.name, func(t *testing.T) {
			b := start(t, sdkModule(t, s.module), s.config, s.functions...)
			for i, step := range s.steps {
				theirs, ours := b.call(t, step.export, []byte(step.input))
				if theirs != ours {
					t.Errorf("call %d of %s:\nSDK  %+v\nours %+v", i, step.export, theirs, ours)
				}
				if ours.output != s.want[i] {
					t.Errorf("call %d of %s gave %q, want %q", i, step.export, ours.output, s.want[i])
				}
				if last := i == len(s.steps)-1; last && (ours.code != s.code || ours.text != s.text) {
					t.Errorf("ended with %d %q, want %d %q", ours.code, ours.text, s.code, s.text)
				}
			}
			b.sameLog(t)
		})
	}
}

// TestEveryModuleOfTheSDKHasACase keeps the list whole when the SDK is updated.
func TestEveryModuleOfTheSDKHasACase(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sdk, "wasm", "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no modules found: %v", err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		known := slices.Contains(elsewhere, name) || differences[name] != "" ||
			slices.ContainsFunc(subjects, func(s subject) bool { return s.module == name })
		if !known {
			t.Errorf("%s has no case", name)
		}
	}
}

// TestVariablesLastInAKeptInstance doubles a variable at each call.
func TestVariablesLastInAKeptInstance(t *testing.T) {
	b := start(t, sdkModule(t, "var.wasm"), nil)
	b.theirs.SetVariable("a", number(10))
	b.ours.SetVariable("a", number(10))
	for _, want := range []uint32{20, 40, 80} {
		if theirs, ours := b.call(t, "run_test", nil); theirs != ours {
			t.Errorf("SDK  %+v\nours %+v", theirs, ours)
		}
		if theirs, ours := b.theirs.Variable("a"), b.ours.Variable("a"); string(theirs) != string(number(want)) ||
			string(ours) != string(theirs) {
			t.Errorf("variable a: SDK %q, ours %q, want %d", theirs, ours, want)
		}
	}
}

// TestModulesThatNeedOtherModulesAreRefused names why.
func TestModulesThatNeedOtherModulesAreRefused(t *testing.T) {
	e, err := engine.New(t.Context(), engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { check(t, e.Close(t.Context())) }()
	for name, word := range map[string]string{"host_memory.wasm": `"host"."to_upper"`,
		"main.wasm": `"lib"."capitalize"`, "nested.c.instr.wasm": `"dylibso_observe"`} {
		if differences[name] == "" {
			t.Errorf("%s is not among the differences", name)
		}
		_, err := e.Load(t.Context(), sdkModule(t, name), engine.Limits{})
		var refused *engine.LoadError
		if !errors.As(err, &refused) || !strings.Contains(refused.Message, word) ||
			!strings.Contains(refused.Message, "The host offers") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDeniedRequestIsAStatusHereAndATrapInTheSDK is the one difference of the ABI that
// is there on purpose.
func TestDeniedRequestIsAStatusHereAndATrapInTheSDK(t *testing.T) {
	b := start(t, sdkModule(t, "http_headers.wasm"), nil)
	theirs, ours := b.call(t, "http_get", []byte(`{"url":"https://example.org/"}`))
	if !theirs.trapped || theirs.output != "" {
		t.Errorf("SDK %+v", theirs)
	}
	if ours.trapped || ours.output != "{}" {
		t.Errorf("ours %+v", ours)
	}
	b = start(t, sdkModule(t, "http.wasm"), nil)
	theirs, ours = b.call(t, "run_test", nil)
	if !theirs.trapped || ours.trapped {
		t.Errorf("SDK %+v, ours %+v", theirs, ours)
	}
}

// TestSleepIsEndedByTheTimeoutUnderBoth wants the deadline's error from each.
func TestSleepIsEndedByTheTimeoutUnderBoth(t *testing.T) {
	const limit = 100_000_000 // nanoseconds
	wasm, config := sdkModule(t, "sleep.wasm"), map[string]string{"duration": "3"}
	m, err := reference.Load(t.Context(), reference.Config{WASM: wasm, Config: config, Timeout: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { check(t, m.Close(t.Context())) }()
	i, err := m.Instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out := i.Call(t.Context(), "run_test", nil); out.Err == nil ||
		!strings.Contains(out.Err.Error(), "deadline exceeded") {
		t.Errorf("SDK: %+v", out)
	}
	b := start(t, wasm, config)
	request := b.config
	request.Export, request.Limits.Timeout = "run_test", limit
	_, err = b.ours.Call(t.Context(), request)
	var failed *engine.CallError
	if !errors.As(err, &failed) || failed.Kind != engine.Timeout {
		t.Errorf("ours: %v", err)
	}
}

func TestUnknownFunctionFailsUnderBoth(t *testing.T) {
	b := start(t, sdkModule(t, "alloc.wasm"), nil)
	out := b.theirs.Call(t.Context(), "i_dont_exist", nil)
	request := b.config
	request.Export = "i_dont_exist"
	_, err := b.ours.Call(t.Context(), request)
	var failed *engine.CallError
	if out.Err == nil || !errors.As(err, &failed) || failed.Kind != engine.MissingExport {
		t.Errorf("SDK %+v, ours %v", out, err)
	}
}
