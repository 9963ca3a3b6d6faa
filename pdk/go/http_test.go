package pdk

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func TestHTTPFetchSpeaksTheHostsShapes(t *testing.T) {
	var asked string
	t.Cleanup(SetHost(HostFunc(func(function string, in []byte) []byte {
		asked = function + " " + string(in)
		return []byte(`{"ok":{"status":200,"headers":{"content-type":"text/plain"},"final_url":"https://b.example/","body_base64":"/w==","truncated":true}}`)
	})))
	r, err := HTTPFetch(HTTPRequest{URL: "https://a.example/", Method: "POST", Body: []byte{1}, MaxBytes: 5,
		Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if want := `http_fetch {"url":"https://a.example/","method":"POST","body_base64":"AQ==","max_bytes":5,"timeout_ms":1000}`; asked != want {
		t.Errorf("asked %s\nwant  %s", asked, want)
	}
	if r.Status != 200 || r.FinalURL != "https://b.example/" || !bytes.Equal(r.Body, []byte{0xff}) || !r.Truncated ||
		r.Headers["content-type"] != "text/plain" {
		t.Errorf("response is %+v", r)
	}
}

func TestHTTPFetchAllKeepsTheOrder(t *testing.T) {
	t.Cleanup(SetHost(HostFunc(func(function string, in []byte) []byte {
		var args struct{ Requests []json.RawMessage }
		if err := json.Unmarshal(in, &args); err != nil || function != "http_fetch_all" || len(args.Requests) == 0 {
			t.Errorf("asked %s %s", function, in)
		}
		return []byte(`{"ok":{"results":[{"error":{"kind":"denied","message":"No."}},{"ok":{"status":404,"body":"gone"}}]}}`)
	})))
	results, err := HTTPFetchAll([]HTTPRequest{{URL: "a"}, {URL: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if !IsKind(results[0].Err, Denied) || results[1].Err != nil || results[1].Response.Status != 404 ||
		string(results[1].Response.Body) != "gone" {
		t.Errorf("results are %+v", results)
	}
	if _, err := HTTPFetchAll([]HTTPRequest{{URL: "a"}}); err == nil {
		t.Error("an answer for two requests was taken for one")
	}
}
