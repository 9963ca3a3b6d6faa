//go:build wasip1

package pdk

import (
	"runtime"
	"unsafe"
)

// The imports of Extism's kernel that both builds use. Offsets point into the
// kernel's memory, not into ours.

//go:wasmimport extism:host/env alloc
func envAlloc(length uint64) uint64

//go:wasmimport extism:host/env free
func envFree(offset uint64)

//go:wasmimport extism:host/env length
func envLength(offset uint64) uint64

//go:wasmimport extism:host/env input_length
func envInputLength() uint64

//go:wasmimport extism:host/env output_set
func envOutputSet(offset, length uint64)

//go:wasmimport extism:host/env error_set
func envErrorSet(offset uint64)

//go:wasmimport extism:host/env config_get
func envConfigGet(offset uint64) uint64

//go:wasmimport extism:host/env log_debug
func envLogDebug(offset uint64)

//go:wasmimport extism:host/env log_info
func envLogInfo(offset uint64)

//go:wasmimport extism:host/env log_warn
func envLogWarn(offset uint64)

//go:wasmimport extism:host/env log_error
func envLogError(offset uint64)

// The host functions. The linker keeps only those that the plugin reaches, so
// the imports of a module are what it may ask for.

//go:wasmimport extism:host/user knowledge_search
func userKnowledgeSearch(offset uint64) uint64

//go:wasmimport extism:host/user knowledge_read
func userKnowledgeRead(offset uint64) uint64

//go:wasmimport extism:host/user kv_get
func userKVGet(offset uint64) uint64

//go:wasmimport extism:host/user kv_put
func userKVPut(offset uint64) uint64

//go:wasmimport extism:host/user kv_delete
func userKVDelete(offset uint64) uint64

//go:wasmimport extism:host/user kv_list
func userKVList(offset uint64) uint64

//go:wasmimport extism:host/user emit
func userEmit(offset uint64) uint64

//go:wasmimport extism:host/user http_fetch
func userHTTPFetch(offset uint64) uint64

//go:wasmimport extism:host/user http_fetch_all
func userHTTPFetchAll(offset uint64) uint64

//go:wasmimport extism:host/user memory_list
func userMemoryList(offset uint64) uint64

//go:wasmimport extism:host/user memory_apply
func userMemoryApply(offset uint64) uint64

//go:wasmimport extism:host/user file_list
func userFileList(offset uint64) uint64

//go:wasmimport extism:host/user file_read
func userFileRead(offset uint64) uint64

//go:wasmimport extism:host/user model_complete
func userModelComplete(offset uint64) uint64

//go:wasmimport wasi_snapshot_preview1 random_get
func wasiRandomGet(buf unsafe.Pointer, length uint32) uint32

//go:wasmexport list_tools
func exportListTools() int32 {
	out, err := listJSON()
	return finish(out, err)
}

//go:wasmexport call_tool
func exportCallTool() int32 {
	out, err := callJSON(readInput(int(envInputLength())))
	return finish(out, err)
}

// finish hands the output over and yields once, so that the garbage collector
// of a module that is used again gets its turn.
func finish(out []byte, err error) int32 {
	defer runtime.Gosched()
	if err != nil {
		envErrorSet(toKernel([]byte(err.Error())))
		return 1
	}
	envOutputSet(toKernel(out), uint64(len(out)))
	return 0
}

// toKernel copies b into a new block of the kernel.
func toKernel(b []byte) uint64 {
	offset := envAlloc(uint64(len(b)))
	if len(b) > 0 {
		writeKernel(offset, b)
	}
	return offset
}

// fromKernel copies a block out of the kernel and frees it.
func fromKernel(offset uint64) []byte {
	if offset == 0 {
		return nil
	}
	b := make([]byte, envLength(offset))
	if len(b) > 0 {
		readKernel(offset, b)
	}
	envFree(offset)
	return b
}

// ask calls a host function with one block and returns its answer.
func ask(function func(uint64) uint64, in []byte) []byte {
	offset := toKernel(in)
	defer envFree(offset)
	return fromKernel(function(offset))
}

func hostKnowledgeSearch(in []byte) []byte { return ask(userKnowledgeSearch, in) }
func hostKnowledgeRead(in []byte) []byte   { return ask(userKnowledgeRead, in) }
func hostKVGet(in []byte) []byte           { return ask(userKVGet, in) }
func hostKVPut(in []byte) []byte           { return ask(userKVPut, in) }
func hostKVDelete(in []byte) []byte        { return ask(userKVDelete, in) }
func hostKVList(in []byte) []byte          { return ask(userKVList, in) }
func hostEmit(in []byte) []byte            { return ask(userEmit, in) }
func hostMemoryList(in []byte) []byte      { return ask(userMemoryList, in) }
func hostMemoryApply(in []byte) []byte     { return ask(userMemoryApply, in) }
func hostFileList(in []byte) []byte        { return ask(userFileList, in) }
func hostFileRead(in []byte) []byte        { return ask(userFileRead, in) }
func hostModelComplete(in []byte) []byte   { return ask(userModelComplete, in) }
func hostHTTPFetch(in []byte) []byte       { return ask(userHTTPFetch, in) }
func hostHTTPFetchAll(in []byte) []byte    { return ask(userHTTPFetchAll, in) }

func hostLog(level, message string) {
	offset := toKernel([]byte(message)) // the host frees it
	switch level {
	case LevelDebug:
		envLogDebug(offset)
	case LevelWarn:
		envLogWarn(offset)
	case LevelError:
		envLogError(offset)
	default:
		envLogInfo(offset)
	}
}

func hostConfig(key string) (string, bool) {
	offset := toKernel([]byte(key))
	defer envFree(offset)
	value := envConfigGet(offset)
	if value == 0 {
		return "", false
	}
	return string(fromKernel(value)), true
}

func hostRandom(b []byte) {
	if len(b) == 0 {
		return
	}
	if errno := wasiRandomGet(unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))); errno != 0 {
		panic("the host gave no random bytes")
	}
}
