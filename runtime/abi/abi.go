// Package abi is the binary interface between a guest and the host: Extism's
// kernel ABI (extism:host/env), the bulk extension (bulkhead:host/mem), the host
// functions of extism:host/user, and WASI preview 1 without files or sockets, all
// as host functions of wazero.
//
// In come the imports that a module declares (Link) and, for each instance, a
// State: input, configuration, hooks and limits of the one call that the instance
// serves. Out go the output, the guest's error text and its logs. Kernel memory is
// on the host's side, per instance.
//
// It must not know what a host function does or whether it is allowed: it asks the
// hook by name, and links every name.
//
// The ABI is Extism's (https://extism.org, kernel of go-sdk v1.7.1). Where this
// differs: http_request goes to a hook and a denial is a status 0, not a trap; the
// limits count kernel memory too.
package abi

import (
	"context"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// The modules that a guest can import from.
const (
	ModuleEnv  = "extism:host/env"
	ModuleUser = "extism:host/user"
	ModuleBulk = "bulkhead:host/mem"
	ModuleWASI = "wasi_snapshot_preview1"
)

const (
	i32 = api.ValueTypeI32
	i64 = api.ValueTypeI64
)

// function is one host function with its type.
type function struct {
	name    string
	params  []api.ValueType
	results []api.ValueType
	call    api.GoModuleFunc
}

// Options says what a module is linked with.
type Options struct {
	// Files links the functions of WASI that change descriptors and files. Without it
	// they answer as for a module without files, and change nothing: such an instance
	// can be used again.
	Files bool
}

// Link adds to rt the host functions that a module with these imports needs. A
// module that imports anything else is refused with a *wasmbin.Error that names
// the import and says what to do. rt must be used for that one module only: the
// functions of extism:host/user have the types that the module gives them.
func Link(ctx context.Context, rt wazero.Runtime, imports []wasmbin.Import, options Options) error {
	wanted := map[string][]wasmbin.Import{}
	for _, im := range imports {
		wanted[im.Module] = append(wanted[im.Module], im)
	}
	for name, list := range wanted {
		var err error
		switch name {
		case ModuleEnv:
			err = linkFixed(ctx, rt, name, envFunctions(), list)
		case ModuleBulk:
			err = linkFixed(ctx, rt, name, bulkFunctions(), list)
		case ModuleUser:
			err = linkUser(ctx, rt, list)
		case ModuleWASI:
			err = linkWASI(ctx, rt, list, options)
		default:
			err = refuse(list[0], foreignAdvice(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func foreignAdvice(module string) string {
	switch {
	case module == "env":
		return "Build it with an Extism PDK (for AssemblyScript: --use abort= ; for C: define every function)."
	case module == "wasi_unstable":
		return "That is WASI preview 0; build it with a newer toolchain for wasm32-wasip1."
	case strings.HasPrefix(module, "wasi:"):
		return "That is WASI preview 2; build it for wasm32-wasip1."
	}
	return fmt.Sprintf("The host offers %s, %s, %s and %s.", ModuleEnv, ModuleUser, ModuleBulk, ModuleWASI)
}

func refuse(im wasmbin.Import, advice string) error {
	return &wasmbin.Error{Kind: wasmbin.Unsupported, Message: fmt.Sprintf(
		"The module imports the function %q.%q, which does not exist here. %s", im.Module, im.Name, advice)}
}

func refuseType(im wasmbin.Import, want string) error {
	return &wasmbin.Error{Kind: wasmbin.Unsupported, Message: fmt.Sprintf(
		"The module imports %q.%q with the type %s; here it has %s. Build it with a current PDK.", im.Module, im.Name,
		im.Type, want)}
}

// linkFixed links those of a fixed set of functions that are imported.
func linkFixed(ctx context.Context, rt wazero.Runtime, module string, set []function, imports []wasmbin.Import) error {
	byName := make(map[string]function, len(set))
	for _, f := range set {
		byName[f.name] = f
	}
	builder := rt.NewHostModuleBuilder(module)
	done := map[string]bool{}
	for _, im := range imports {
		f, ok := byName[im.Name]
		if !ok {
			return refuse(im, "Build it with an Extism PDK that matches the host's version, or update the host.")
		}
		if !sameType(im.Type, f.params, f.results) {
			return refuseType(im, funcType(f.params, f.results).String())
		}
		if !done[im.Name] {
			done[im.Name] = true
			builder.NewFunctionBuilder().WithGoModuleFunction(f.call, f.params, f.results).Export(f.name)
		}
	}
	if _, err := builder.Instantiate(ctx); err != nil {
		return fmt.Errorf("link %s: %w", module, err)
	}
	return nil
}

func funcType(params, results []api.ValueType) wasmbin.FuncType {
	var t wasmbin.FuncType
	for _, p := range params {
		t.Params = append(t.Params, wasmbin.ValueType(p))
	}
	for _, r := range results {
		t.Results = append(t.Results, wasmbin.ValueType(r))
	}
	return t
}

func sameType(t wasmbin.FuncType, params, results []api.ValueType) bool {
	return t.String() == funcType(params, results).String()
}
