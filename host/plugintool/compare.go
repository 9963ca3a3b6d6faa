package plugintool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/reference"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// Comparison is one call that was made here and under the reference SDK.
type Comparison struct {
	// Call is the name of the tool, or list_tools or describe.
	Call string `json:"call"`
	// Arguments are those of the tool.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Differences name what was not the same; empty where all was.
	Differences []string `json:"differences"`
	// Unsteady tells that two calls here differ already, so that nothing can be compared.
	Unsteady bool `json:"unsteady,omitempty"`
}

// comparedTime bounds one call.
const comparedTime = time.Minute

// comparedNow is what calls that are compared are told of the time.
var comparedNow = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// denied is what every host function answers under both.
var denied = []byte(`{"error":{"kind":"denied","message":"Nothing is granted while a plugin is verified."}}`)

// compare makes each call here and there, each in an instance of its own.
func (v *Verification) compare(
	ctx context.Context, module *engine.Module, wasm []byte, m capability.Manifest, tools []guest.Listed,
	arguments map[string]json.RawMessage,
) (err error) {
	p, err := guest.Protocol(module, m)
	if err != nil {
		return err
	}
	if ours := v.ours(); len(ours) > 0 {
		v.Problems = append(v.Problems, fmt.Sprintf(
			"The module imports %s, which only Bulkhead has, so the reference cannot run it. "+
				"Build it without them, in Go with -tags portable.", strings.Join(ours, ", ")))
		return nil
	}
	if p == engine.WASICommand {
		v.Problems = append(v.Problems,
			"The module is a WASI command and no Extism plugin, so there is no reference to compare it with.")
		return nil
	}
	theirs, err := reference.Load(ctx, reference.Config{
		WASM: wasm, Functions: deniedFunctions(module), Timeout: comparedTime,
	})
	if err != nil {
		v.Problems = append(v.Problems, "The reference does not load the module: "+audit.Shorten(err.Error(), 300))
		return nil
	}
	defer func() { err = errors.Join(err, theirs.Close(ctx)) }()
	if slices.Contains(v.Imports, "extism:host/env http_request") {
		v.Warnings = append(v.Warnings,
			"A request that is denied gives the status 0 here and traps under the reference. "+
				"A tool that makes one differs for that.")
	}
	b := beside{module, theirs}
	export, list := "call_tool", "list_tools"
	if p == engine.ToolsV1 {
		export, list = "call", "describe"
	}
	one, err := b.call(ctx, list, list, []byte(`{"context":{"id":"verify","_meta":{}}}`))
	if err != nil {
		return err
	}
	v.Compared = append(v.Compared, one)
	for _, l := range tools {
		args := arguments[l.Name]
		if args == nil {
			args = guest.ExampleArguments(l.InputSchema)
		}
		input, err := guest.BareInput(p, l.Name, "verify", args, comparedNow)
		if err != nil {
			return err
		}
		if one, err = b.call(ctx, l.Name, export, input); err != nil {
			return err
		}
		one.Arguments = args
		v.Compared = append(v.Compared, one)
	}
	return nil
}

// deniedFunctions are the host functions that the module imports, each of which denies.
func deniedFunctions(m *engine.Module) []reference.Function {
	var list []reference.Function
	seen := map[string]bool{}
	for _, im := range m.Imports() {
		if im.Module != "extism:host/user" || seen[im.Name] {
			continue
		}
		seen[im.Name] = true
		params, results, _ := strings.Cut(im.Type, "->")
		list = append(list, reference.Function{
			Name: im.Name, Answer: denied,
			Params: strings.Count(params, "i64"), Result: strings.Contains(results, "i64"),
		})
	}
	return list
}

// beside is a module here and under the reference.
type beside struct {
	ours   *engine.Module
	theirs *reference.Module
}

// call compares one call. The error is of the host, not of the guest.
func (b beside) call(ctx context.Context, name, export string, input []byte) (Comparison, error) {
	c := Comparison{Call: name, Differences: []string{}}
	first, err := b.here(ctx, export, input)
	if err != nil {
		return c, err
	}
	second, err := b.here(ctx, export, input)
	if err != nil {
		return c, err
	}
	if len(first.differences(second, "the first time", "the second")) > 0 {
		c.Unsteady = true
		return c, nil
	}
	there, err := b.there(ctx, export, input)
	if err != nil {
		return c, err
	}
	c.Differences = append(c.Differences, first.differences(there, "here", "under the reference")...)
	return c, nil
}

func (b beside) here(ctx context.Context, export string, input []byte) (ending, error) {
	out, err := b.ours.Call(ctx, engine.Call{
		Export: export, Input: input, Limits: engine.Limits{Timeout: comparedTime},
		Host: func(string) engine.HostFunc {
			return func(context.Context, []byte) []byte { return denied }
		},
	})
	var failed *engine.CallError
	switch {
	case err == nil:
		return ending{how: "ok", output: out.Output}, nil
	case ctx.Err() != nil || !errors.As(err, &failed):
		return ending{}, err
	}
	e := ending{how: "trap", code: uint32(failed.Code)}
	switch failed.Kind {
	case engine.GuestError:
		e.how = "error"
		if !strings.Contains(failed.Message, "gave no reason") {
			e.text = failed.Message
		}
	case engine.Exit:
		e.how = "exit"
	case engine.Trap, engine.MissingExport:
	default:
		e.text = failed.Message
	}
	return e, nil
}

func (b beside) there(ctx context.Context, export string, input []byte) (ending, error) {
	i, err := b.theirs.Instance(ctx)
	if err != nil {
		return ending{}, err
	}
	out := i.Call(ctx, export, input)
	if err := i.Close(ctx); err != nil {
		return ending{}, err
	}
	if ctx.Err() != nil {
		return ending{}, ctx.Err()
	}
	e := ending{how: "ok", code: out.Code, output: out.Output}
	switch {
	case out.Err == nil && out.Code == 0:
	case out.Err == nil:
		e.how = "error"
	case out.Exited:
		e.how = "exit"
	case strings.Contains(out.Err.Error(), "wasm stack trace"):
		e.how, e.code = "trap", 0
	default:
		e.how = "error"
		if !strings.HasPrefix(out.Err.Error(), "encountered an unknown error in call to Extism plugin function") {
			e.text = out.Err.Error()
		}
	}
	return e, nil
}
