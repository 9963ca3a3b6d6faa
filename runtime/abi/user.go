package abi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// maxUserParams is the largest number of blocks that one host function takes, and maxUserBytes
// how long several are together: a guest could name one large block in each place, and their
// JSON can be six times as long.
const (
	maxUserParams = 16
	maxUserBytes  = 4 << 20
)

// linkUser links every name of extism:host/user that the module imports. The usual
// type is (i64) -> (i64), one block in and one block out. A function without
// parameters gets empty input; one with several gets a JSON array of its blocks as
// strings; a result can be missing. Another type cannot carry blocks and is
// refused.
func linkUser(ctx context.Context, rt wazero.Runtime, imports []wasmbin.Import) error {
	builder := rt.NewHostModuleBuilder(ModuleUser)
	types := map[string]string{}
	for _, im := range imports {
		if !carriesBlocks(im.Type) {
			return &wasmbin.Error{Kind: wasmbin.Unsupported, Message: fmt.Sprintf(
				"The module imports the host function %q with the type %s; host functions take up to %d i64 and give "+
					"at most one i64. Declare it as (i64) -> (i64).",
				im.Name, im.Type, maxUserParams)}
		}
		if before, ok := types[im.Name]; ok {
			if before != im.Type.String() {
				return &wasmbin.Error{Kind: wasmbin.Unsupported, Message: fmt.Sprintf(
					"The module imports the host function %q with two types, %s and %s.", im.Name, before, im.Type)}
			}
			continue
		}
		types[im.Name] = im.Type.String()
		params, results := len(im.Type.Params), len(im.Type.Results)
		builder.NewFunctionBuilder().
			WithGoModuleFunction(userFunction(im.Name, params, results), allI64(params), allI64(results)).
			Export(im.Name)
	}
	if _, err := builder.Instantiate(ctx); err != nil {
		return fmt.Errorf("link %s: %w", ModuleUser, err)
	}
	return nil
}

func carriesBlocks(t wasmbin.FuncType) bool {
	for _, v := range append(append([]wasmbin.ValueType(nil), t.Params...), t.Results...) {
		if v != wasmbin.I64 {
			return false
		}
	}
	return len(t.Params) <= maxUserParams && len(t.Results) <= 1
}

func allI64(n int) []api.ValueType {
	out := make([]api.ValueType, n)
	for i := range out {
		out[i] = i64
	}
	return out
}

func userFunction(name string, params, results int) api.GoModuleFunc {
	return guarded(name, func(s *State, ctx context.Context, stack []uint64) {
		call := s.needCall()
		if call.Numbers != nil && results == 1 {
			if f := call.Numbers(name); f != nil {
				stack[0] = f(stack[:params])
				return
			}
		}
		var serve HostFunc
		if call.Host != nil {
			serve = call.Host(name)
		}
		out := denied(name)
		if serve != nil {
			out = serve(ctx, s.userInput(name, stack[:params]))
		}
		if results == 1 {
			stack[0] = s.answer(name, out)
		}
	})
}

func (s *State) userInput(name string, offsets []uint64) []byte {
	switch len(offsets) {
	case 0:
		return nil
	case 1:
		return s.text(name, offsets[0])
	}
	total := uint64(0)
	for _, off := range offsets {
		total += s.mem.length(off)
	}
	if total > maxUserBytes {
		panic(fault("The blocks that the guest gave to %s have %d bytes; several may have %d together.", name, total,
			maxUserBytes))
	}
	texts := make([]string, len(offsets))
	for i, off := range offsets {
		texts[i] = strings.ToValidUTF8(string(s.text(name, off)), "\uFFFD")
	}
	in, err := json.Marshal(texts)
	if err != nil { // strings always encode
		panic(err)
	}
	return in
}

// denied is the answer of a function that was not granted: the guest can go on
// without it.
func denied(name string) []byte {
	type reason struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	}
	out, err := json.Marshal(map[string]reason{"error": {"denied", name + " is not granted to this plugin."}})
	if err != nil { // strings always encode
		panic(err)
	}
	return out
}
