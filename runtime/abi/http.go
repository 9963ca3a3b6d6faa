package abi

import (
	"context"
	"encoding/json"
	"strings"
)

// httpRequest is Extism's http_request: the request's block and the body's block
// in, the response body's block out. Both blocks are freed, as Extism does.
func httpRequest(s *State, ctx context.Context, stack []uint64) {
	call := s.needCall()
	raw := s.text("http_request", stack[0])
	s.free(stack[0])
	var req HTTPRequest
	if err := json.Unmarshal(raw, &req); err != nil {
		panic(fault("The guest's http request is not the JSON that Extism describes."))
	}
	if stack[1] != 0 {
		req.Body = s.text("http_request", stack[1])
		s.free(stack[1])
	}
	req.Method = strings.ToUpper(req.Method)
	if req.Method == "" {
		req.Method = "GET"
	}
	s.httpStatus, s.httpHeaders = 0, nil
	if call.HTTP == nil {
		s.log.write("warn", []byte("http_request is not granted to this plugin; it got status 0."))
		stack[0] = 0
		return
	}
	resp := call.HTTP(ctx, req)
	s.checkStopped()
	s.httpStatus = int32(resp.Status)
	s.httpHeaders = make(map[string]string, len(resp.Headers))
	for name, value := range resp.Headers {
		s.httpHeaders[strings.ToLower(name)] = value
	}
	stack[0] = s.answer("http_request", resp.Body)
}

// httpHeaders is Extism's http_headers: a JSON object of the last response's
// headers, names in lower case; the null block before any response.
func httpHeaders(s *State, _ context.Context, stack []uint64) {
	if s.httpHeaders == nil {
		stack[0] = 0
		return
	}
	data, err := json.Marshal(s.httpHeaders)
	if err != nil { // strings always encode
		panic(err)
	}
	stack[0] = s.answer("http_headers", data)
}
