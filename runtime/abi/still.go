package abi

import (
	"context"

	"github.com/tetratelabs/wazero/api"
)

// The error numbers of WASI preview 1 that are used here
// (https://github.com/WebAssembly/WASI, snapshot-01, errno).
const (
	errnoSuccess = 0
	errnoBadf    = 8
	errnoDquot   = 19
	errnoInval   = 28
	errnoIo      = 29
	errnoMfile   = 33
	errnoNospc   = 51
	errnoNotdir  = 54
	errnoNotsock = 57
	errnoNotsup  = 58
	errnoSpipe   = 70
)

// streams is the number of descriptors of a module without files: stdin, stdout and
// stderr, which are there for good.
const streams = 3

// stillFunctions are those functions of WASI that change the state of descriptors, for
// modules without files. They answer what is true of three streams and change nothing.
func stillFunctions() []function {
	answers := map[string]struct {
		params []api.ValueType
		// stream is what a function that names one of the streams answers.
		stream uint64
	}{
		"fd_close":                {types("i"), errnoSuccess},
		"fd_seek":                 {types("iIii"), errnoSpipe},
		"fd_tell":                 {types("ii"), errnoSpipe},
		"fd_allocate":             {types("iII"), errnoInval},
		"fd_filestat_set_size":    {types("iI"), errnoInval},
		"fd_filestat_set_times":   {types("iIIi"), errnoInval},
		"fd_readdir":              {types("iiiIi"), errnoNotdir},
		"path_create_directory":   {types("iii"), errnoNotdir},
		"path_filestat_get":       {types("iiiii"), errnoNotdir},
		"path_filestat_set_times": {types("iiiiIIi"), errnoNotdir},
		"path_link":               {types("iiiiiii"), errnoNotdir},
		"path_open":               {types("iiiiiIIii"), errnoNotdir},
		"path_readlink":           {types("iiiiii"), errnoNotdir},
		"path_remove_directory":   {types("iii"), errnoNotdir},
		"path_rename":             {types("iiiiii"), errnoNotdir},
		"path_unlink_file":        {types("iii"), errnoNotdir},
		"sock_accept":             {types("iii"), errnoNotsock},
		"sock_recv":               {types("iiiiii"), errnoNotsock},
		"sock_send":               {types("iiiii"), errnoNotsock},
		"sock_shutdown":           {types("ii"), errnoNotsock},
	}
	var set []function
	for name, a := range answers {
		set = append(set, still(name, a.params, func(stack []uint64) uint64 { return ofStream(stack[0], a.stream) }))
	}
	return append(set,
		// path_symlink names its descriptor third.
		still("path_symlink", types("iiiii"), func(stack []uint64) uint64 { return ofStream(stack[2], errnoNotdir) }),
		still("fd_renumber", types("ii"), func(stack []uint64) uint64 { return ofStream(stack[0], errnoNotsup) }),
		still("fd_fdstat_set_flags", types("ii"), func(stack []uint64) uint64 {
			// append and nonblock mean nothing for these streams; the others exist
			// for files only.
			const dsync, rsync, sync = 1 << 1, 1 << 3, 1 << 4
			if api.DecodeU32(stack[1])&(dsync|rsync|sync) != 0 {
				return errnoInval
			}
			return ofStream(stack[0], errnoSuccess)
		}),
	)
}

func ofStream(fd, errno uint64) uint64 {
	if api.DecodeU32(fd) < streams {
		return errno
	}
	return errnoBadf
}

func still(name string, params []api.ValueType, answer func(stack []uint64) uint64) function {
	return function{name, params, []api.ValueType{i32}, func(ctx context.Context, _ api.Module, stack []uint64) {
		stateOf(ctx).checkStopped()
		stack[0] = answer(stack)
	}}
}

// types returns a list of value types: i for i32, I for i64.
func types(list string) []api.ValueType {
	out := make([]api.ValueType, len(list))
	for i, t := range list {
		out[i] = i32
		if t == 'I' {
			out[i] = i64
		}
	}
	return out
}
