package plugin_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/runtime/engine"
	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
	"github.com/bulkhead-host/bulkhead/sandbox/files"
)

// fileCalls are the functions of WASI that open and change files: i for i32, I for i64.
var fileCalls = []struct{ name, params string }{
	{"fd_advise", "iIIi"}, {"fd_allocate", "iII"}, {"fd_close", "i"}, {"fd_datasync", "i"}, {"fd_fdstat_get", "ii"},
	{"fd_fdstat_set_flags", "ii"}, {"fd_filestat_get", "ii"}, {"fd_filestat_set_size", "iI"},
	{"fd_filestat_set_times", "iIIi"},
	{"fd_pread", "iiiIi"}, {"fd_prestat_get", "ii"}, {"fd_prestat_dir_name", "iii"}, {"fd_pwrite", "iiiIi"},
	{"fd_read", "iiii"},
	{"fd_readdir", "iiiIi"}, {"fd_renumber", "ii"}, {"fd_seek", "iIii"}, {"fd_sync", "i"}, {"fd_tell", "ii"},
	{"fd_write", "iiii"},
	{"path_create_directory", "iii"}, {"path_filestat_get", "iiiii"}, {"path_filestat_set_times", "iiiiIIi"},
	{"path_link", "iiiiiii"},
	{"path_open", "iiiiiIIii"}, {"path_readlink", "iiiiii"}, {"path_remove_directory", "iii"},
	{"path_rename", "iiiiii"},
	{"path_symlink", "iiiii"}, {"path_unlink_file", "iii"},
}

// numbers are arguments that mean something somewhere: descriptors, addresses of names and
// of vectors, lengths, flags, and what is out of every range.
var numbers = []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 40, 64, 1000, 1 << 15, 1 << 16, 1 << 20, 1<<31 - 1, -1, -8,
	1 << 40, 1<<63 - 1}

// TestDescriptorGamesStayWithinTheWorkspace has guests call WASI's functions for files in
// any order with any arguments. Each call ends by itself or in a typed error, and the
// workspace keeps its quota.
func TestDescriptorGamesStayWithinTheWorkspace(t *testing.T) {
	e, err := engine.New(t.Context(), engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	const quota = 100_000
	rapid.Check(t, func(r *rapid.T) {
		var b w.Module
		index := make([]uint32, len(fileCalls))
		for i, f := range fileCalls {
			index[i] = b.Import("wasi_snapshot_preview1", f.name, types(f.params), w.Types{w.I32})
		}
		b.Memory(1)
		b.Data(0, []byte("a\x00\x00\x00b/c\x00../a\x00\x00\x00\x00"))
		b.Data(32, []byte{64, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}) // two vectors
		var body [][]byte
		arguments := rapid.SampledFrom(numbers)
		for range rapid.IntRange(1, 25).Draw(r, "calls") {
			i := rapid.IntRange(0, len(fileCalls)-1).Draw(r, "function")
			args := make([]int64, len(fileCalls[i].params))
			for k := range args {
				args[k] = arguments.Draw(r, "argument")
			}
			if rapid.Bool().Draw(r, "opens") {
				i, args = opens, []int64{3, 0, 0, 1, rapid.SampledFrom([]int64{0, 1, 2, 8, 9}).Draw(r, "how"), -1, -1,
					0, 64}
			}
			for k, kind := range fileCalls[i].params {
				if kind == 'i' {
					body = append(body, w.Const32(int32(args[k])))
				} else {
					body = append(body, w.Const64(args[k]))
				}
			}
			body = append(body, w.Call(index[i]), w.Drop)
		}
		b.Func("call", w.Types{w.I32}, 0, append(body, w.Const32(0))...)
		m, err := e.Load(t.Context(), b.Bytes(), engine.Limits{Files: true, MemoryMiB: 8, Timeout: time.Minute})
		if err != nil {
			r.Fatal(err)
		}
		space := files.NewWorkspace(quota, time.Now)
		_, err = m.Call(t.Context(), engine.Call{Export: "call",
			Mounts: []engine.Mount{{Path: "/workspace", FS: space}}})
		var ended *engine.CallError
		if err != nil && (!errors.As(err, &ended) || ended.Kind != engine.Trap) {
			r.Errorf("%v", err)
		}
		if space.Used() < 0 || space.Used() > quota {
			r.Errorf("the workspace uses %d of %d bytes", space.Used(), quota)
		}
		if err := m.Close(t.Context()); err != nil {
			r.Error(err)
		}
	})
}

// opens is the place of path_open in fileCalls.
var opens = func() int {
	for i, f := range fileCalls {
		if f.name == "path_open" {
			return i
		}
	}
	panic("path_open is not there")
}()

func types(params string) w.Types {
	var list w.Types
	for _, kind := range params {
		if kind == 'i' {
			list = append(list, w.I32)
		} else {
			list = append(list, w.I64)
		}
	}
	return list
}
