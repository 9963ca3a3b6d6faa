package abi

import (
	"context"

	"github.com/tetratelabs/wazero/api"
)

// wazero has a list of its own of the errors that a file system may return, and makes EIO of
// any other. A guest that looks for a full disk would not find it. So the functions that can
// meet one are wazero's with the number of the error put right.

// exactNames are those functions of WASI.
var exactNames = []string{
	"fd_allocate", "fd_filestat_set_size", "fd_pwrite", "fd_write", "path_create_directory", "path_open", "path_rename",
}

// exactFunctions are the functions of those names among wazero's.
func exactFunctions(known map[string]api.FunctionDefinition) []function {
	var set []function
	for _, name := range exactNames {
		d := known[name]
		if f, ok := d.GoFunction().(api.GoModuleFunction); ok {
			set = append(set, function{name, d.ParamTypes(), d.ResultTypes(), exact(f)})
		}
	}
	return set
}

// exact answers as f does, but for the numbers of errors that wazero does not know.
func exact(f api.GoModuleFunction) api.GoModuleFunc {
	return func(ctx context.Context, module api.Module, stack []uint64) {
		s := stateOf(ctx)
		s.errno = errnoSuccess
		f.Call(ctx, module, stack)
		if s.errno != errnoSuccess && api.DecodeU32(stack[0]) == errnoIo {
			stack[0] = s.errno
		}
	}
}
