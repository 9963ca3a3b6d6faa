package reference_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/reference"
	"github.com/bulkhead-host/bulkhead/runtime/vfs"
)

// sdk is the folder of extism/go-sdk, whose modules are the cases.
var sdk = func() string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk").Output()
	if err != nil {
		panic(fmt.Errorf("find extism/go-sdk: %w", err))
	}
	return strings.TrimSpace(string(out))
}()

func sdkModule(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(sdk, "wasm", name))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// both is one module under both loaders, each with one instance.
type both struct {
	theirs *reference.Instance
	ours   *engine.Kept
	config engine.Call
	// logs are the lines of each at level info and above.
	theirLog, ourLog *[]string
	theirOut         *bytes.Buffer
}

// mount is a folder of this machine and the same files for our side, at a path.
type mount struct {
	path, host string
	ours       vfs.FS
}

// start loads a module under both with the same configuration and functions.
func start(t testing.TB, wasm []byte, config map[string]string, functions ...reference.Function) both {
	t.Helper()
	return startWith(t, wasm, config, mount{}, functions...)
}

// startWith is start with files; the zero mount is none.
func startWith(t testing.TB, wasm []byte, config map[string]string, m mount, functions ...reference.Function) both {
	t.Helper()
	mounts := map[string]string{}
	if m.path != "" {
		mounts[m.path] = m.host
	}
	ctx := context.Background()
	b := both{theirLog: new([]string), ourLog: new([]string), theirOut: new(bytes.Buffer)}
	module, err := reference.Load(ctx, reference.Config{
		WASM: wasm, Config: config, Functions: functions, Mounts: mounts, Stdout: b.theirOut,
		Log: func(level, message string) { *b.theirLog = append(*b.theirLog, level+": "+message) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, module.Close(ctx)) })
	if b.theirs, err = module.Instance(ctx); err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(ctx, engine.Config{Spares: -1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, e.Close(ctx)) })
	loaded, err := e.Load(ctx, wasm, engine.Limits{Files: m.path != ""})
	if err != nil {
		t.Fatal(err)
	}
	b.ours = loaded.Keep()
	b.ours.Numbers = func(name string) engine.NumbersFunc {
		for _, f := range functions {
			if f.Name == name && f.Numbers != nil {
				return f.Numbers
			}
		}
		return nil
	}
	t.Cleanup(func() { check(t, b.ours.Close(ctx)) })
	b.config = engine.Call{
		Config: config,
		Host: func(name string) engine.HostFunc {
			for _, f := range functions {
				if f.Name == name && f.Blocks != nil {
					return func(_ context.Context, in []byte) []byte { return f.Blocks(in) }
				}
			}
			return nil
		},
		Log: func(level, message string) {
			if level != "trace" && level != "debug" {
				*b.ourLog = append(*b.ourLog, level+": "+message)
			}
		},
	}
	if m.path != "" {
		b.config.Mounts = []engine.Mount{{Path: m.path, FS: m.ours}}
	}
	return b
}

func check(t testing.TB, err error) {
	if err != nil {
		t.Error(err)
	}
}

// ended is how a call ended, in terms that both have.
type ended struct {
	code   uint32
	output string
	// text is what the guest said by error_set; trapped says that it did not end by
	// itself, exited that it called proc_exit with a code other than 0.
	text            string
	trapped, exited bool
}

// call calls an export under both.
func (b both) call(t testing.TB, export string, input []byte) (theirs, ours ended) {
	t.Helper()
	out := b.theirs.Call(t.Context(), export, input)
	theirs = ended{code: out.Code, output: string(out.Output)}
	switch {
	case out.Err == nil:
	case out.Exited:
		theirs.exited = true
	case strings.Contains(out.Err.Error(), "wasm stack trace"):
		theirs.trapped = true
	default:
		theirs.text = out.Err.Error()
	}
	request := b.config
	request.Export, request.Input = export, input
	got, err := b.ours.Call(t.Context(), request)
	ours = ended{output: string(got.Output)}
	var failed *engine.CallError
	if errors.As(err, &failed) {
		ours.code = uint32(failed.Code)
		switch failed.Kind {
		case engine.GuestError:
			if !strings.Contains(failed.Message, "gave no reason") {
				ours.text = failed.Message
			}
		case engine.Exit:
			ours.exited = true
		case engine.Trap:
			ours.trapped, ours.code = true, theirs.code // a trap has no code of its own here
		default:
			t.Fatalf("%s: %v", failed.Kind, err)
		}
	} else if err != nil {
		t.Fatal(err)
	}
	return theirs, ours
}

// blocks is a host function of one block, numbers one of two numbers.
func blocks(name string, f func(in []byte) []byte) reference.Function {
	return reference.Function{Name: name, Blocks: f}
}

func number(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

// sameLog compares log lines from info up. The SDK writes stdout elsewhere.
func (b both) sameLog(t *testing.T) {
	t.Helper()
	want := *b.theirLog
	for line := range strings.Lines(b.theirOut.String()) {
		want = append(want, "info: "+strings.TrimSuffix(line, "\n"))
	}
	if !slices.Equal(want, *b.ourLog) {
		t.Errorf("log:\nSDK  %q\nours %q", want, *b.ourLog)
	}
}
