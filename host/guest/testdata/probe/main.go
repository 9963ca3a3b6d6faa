// Command probe is a plugin for the tests of host/plugin: each tool does one
// thing to the host.
package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

type none struct{}

type keyed struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
}

type sized struct {
	Bytes int `json:"bytes"`
}

var calls int

func init() {
	pdk.Register(
		pdk.Func("context", "", "Returns its context.",
			func(c *pdk.Call, _ none) (pdk.Result, error) { return pdk.JSON(c.Context), nil }),
		pdk.Func("put", "", "Stores a value.", func(_ *pdk.Call, a keyed) (pdk.Result,
			error) {
			return pdk.Text("stored"), pdk.KVPut(a.Key, a.Value)
		}),
		pdk.Func("delete", "", "Deletes a value.",
			func(_ *pdk.Call, a keyed) (pdk.Result, error) { return pdk.Text("deleted"), pdk.KVDelete(a.Key) }),
		pdk.Func("get", "", "Returns a value.", get),
		pdk.Func("show", "", "Shows progress and output.", show),
		pdk.Func("large", "", "Returns many bytes.", func(_ *pdk.Call, a sized) (pdk.Result, error) {
			return pdk.Text(strings.Repeat("x", a.Bytes)), nil
		}),
		pdk.Func("crash", "", "Panics where nobody recovers.", crash),
		pdk.Func("fail", "", "Fails.", func(*pdk.Call, none) (pdk.Result, error) {
			return pdk.Result{},
				errors.New("no such town: Atlantis")
		}),
		pdk.Func("count", "", "Counts calls in a global.", func(*pdk.Call, none) (pdk.Result, error) {
			calls++
			return pdk.JSON(calls), nil
		}),
		pdk.Func("random", "", "Returns random bytes.", func(*pdk.Call, none) (pdk.Result, error) {
			b := make([]byte, 16)
			pdk.Random(b)
			return pdk.Text(hex.EncodeToString(b)), nil
		}),
		pdk.Func("everything", "", "Returns all that a result can hold.", everything),
	)
}

func main() {}

func get(_ *pdk.Call, a keyed) (pdk.Result, error) {
	value, found, err := pdk.KVGet(a.Key)
	if err != nil {
		return pdk.Result{}, err
	}
	keys, err := pdk.KVList("")
	return pdk.JSON(map[string]any{"value": value, "found": found, "keys": keys}), err
}

func show(c *pdk.Call, _ none) (pdk.Result, error) {
	pdk.Log(pdk.LevelWarn, "the probe logs")
	return pdk.Text("shown"), errors.Join(
		pdk.Progress("half", 0.5), pdk.Output("stdout", "line\n"),
		pdk.ShowDocuments(pdk.Document{ID: "d", Ref: c.Context.Refs.Start, Title: "Early"}))
}

func crash(*pdk.Call, none) (pdk.Result, error) {
	done := make(chan struct{})
	go func() { panic("the probe crashes") }()
	<-done
	return pdk.Result{}, nil
}

func everything(c *pdk.Call, _ none) (pdk.Result, error) {
	c.Cite(pdk.Document{ID: "web", Title: "Web", URL: "https://example.org/"})
	c.Cite(pdk.Document{ID: "script", Title: "Script", URL: "javascript:alert(1)"})
	return pdk.Result{
		Content: []pdk.Content{{Type: "text", Text: "one"}, {Type: "image", MIMEType: "image/png", Data: "AA=="},
			{Type: "text", Text: "two"}},
		Structured: json.RawMessage(`{"n":1}`),
		Files:      []pdk.File{{ID: "f1", Name: "a.txt", MediaType: "text/plain", Size: 3}},
	}, nil
}
