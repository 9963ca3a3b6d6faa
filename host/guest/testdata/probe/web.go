package main

import (
	"encoding/json"
	"fmt"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// The imports by which an Extism plugin makes requests.

//go:wasmimport extism:host/env http_request
func httpRequest(request, body uint64) uint64

//go:wasmimport extism:host/env http_status_code
func httpStatusCode() int32

//go:wasmimport extism:host/env http_headers
func httpHeaders() uint64

//go:wasmimport extism:host/env alloc
func alloc(length uint64) uint64

//go:wasmimport extism:host/env length
func length(offset uint64) uint64

//go:wasmimport extism:host/env store_u8
func storeU8(offset uint64, b uint32)

//go:wasmimport extism:host/env load_u8
func loadU8(offset uint64) uint32

func init() {
	pdk.Register(
		pdk.Func("request", "", "Makes a request as Extism plugins do.", request),
		pdk.Func("fetch", "", "Makes a request as our plugins do.", fetch),
	)
}

type web struct {
	URL        string            `json:"url"`
	Method     string            `json:"method,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	Body       string            `json:"body,omitempty"`
	Credential string            `json:"credential,omitempty"`
}

func block(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	offset := alloc(uint64(len(b)))
	for i, c := range b {
		storeU8(offset+uint64(i), uint32(c))
	}
	return offset
}

func text(offset uint64) string {
	if offset == 0 {
		return ""
	}
	b := make([]byte, length(offset))
	for i := range b {
		b[i] = byte(loadU8(offset + uint64(i)))
	}
	return string(b)
}

func request(_ *pdk.Call, a web) (pdk.Result, error) {
	meta, err := json.Marshal(map[string]any{"url": a.URL, "method": a.Method, "headers": a.Headers})
	if err != nil {
		return pdk.Result{}, err
	}
	body := text(httpRequest(block(meta), block([]byte(a.Body))))
	return pdk.Text(fmt.Sprintf("status %d\nheaders %s\n%s", httpStatusCode(), text(httpHeaders()), body)), nil
}

func fetch(_ *pdk.Call, a web) (pdk.Result, error) {
	r, err := pdk.HTTPFetch(pdk.HTTPRequest{URL: a.URL, Method: a.Method, Headers: a.Headers, Body: []byte(a.Body),
		Credential: a.Credential})
	if err != nil {
		return pdk.Fail(err.Error()), nil
	}
	return pdk.Text(fmt.Sprintf("status %d\nat %s\ntruncated %v\n%s", r.Status, r.FinalURL, r.Truncated, r.Body)), nil
}
