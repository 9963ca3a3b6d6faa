package plugin

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// FuzzParseTools holds that a foreign list of tools is either refused with an
// *Error or safe to show and to store.
func FuzzParseTools(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","description":"d","inputSchema":{"type":"object"}}]}`))
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":null},{"name":"a b/ü"}],"_meta":{}}`))
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema": [1]}]}`))
	f.Add([]byte("{\"tools\":\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tools, err := parseTools(data, 1)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error is %T", err)
			}
			return
		}
		if _, err := json.Marshal(tools); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzResult holds that whatever call_tool returns becomes a result: a failure
// with a sentence, or one whose documents have ids and web addresses only.
func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"x"}],"structuredContent":{},"_meta":{"bulkhead/documents":[{"id":"d","ref":1,"url":"javascript:x"}]}}`))
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"uri":"u"}}],"isError":true}`))
	f.Add([]byte(`{"content":[null],"_meta":{"bulkhead/files":[{}],"bulkhead/documents":{}}}`))
	f.Add([]byte(`{"content":`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := guestCall{logger: slog.New(slog.DiscardHandler), title: "T", exposed: "t"}.result(data)
		if r.Failure != nil && (r.Failure.Message == "" || r.Text == "") {
			t.Fatalf("a failure without words: %+v", r)
		}
		for _, d := range r.Documents {
			if d.ID == "" || d.URL != "" && !strings.EqualFold(d.URL[:4], "http") {
				t.Fatalf("document is %+v", d)
			}
		}
		if r.Structured != nil && !json.Valid(r.Structured) {
			t.Fatalf("structured is %s", r.Structured)
		}
	})
}
