package cli

import (
	"bytes"
	"mime/multipart"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/knowledge"
)

func TestAnyFileNameCanBeSent(t *testing.T) {
	for _, name := range []string{"plain.md", "esc\x1b[31m.md", "two\nlines.md", `quo"te\.md`, "Grüße.md"} {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		if err := addFile(w, knowledge.Source{Name: name, URI: "/x/" + name, Data: []byte("text")}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		form, err := multipart.NewReader(&body, w.Boundary()).ReadForm(1 << 20)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if len(form.File["file"]) != 1 || len(form.Value["uri"]) != 1 || form.Value["uri"][0] != "/x/"+name {
			t.Errorf("%q: %+v", name, form)
		}
	}
}
