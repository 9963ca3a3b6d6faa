package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/api/rest"
)

func TestUploadsSayWhatReadingThemTook(t *testing.T) {
	h := newHost(t)
	for name, c := range map[string]struct{ data, note, text string }{
		"stray.txt": {"Der Text ist gültig und schön lang, nur hier \xff nicht.\n", "1 byte could not be read",
			"gültig und schön lang, nur hier \uFFFD nicht"},
		"old.txt": {"Die Gr\xf6\xdfe der Stra\xdfe, 5 \x80\n", "taken to be windows-1252",
			"Die Größe der Straße, 5 €"},
		"nul.md":    {"# Log\n\nFirst line\x00 second line.\n", "1 control character", "First line second line."},
		"empty.txt": {"", "It is empty.", ""},
		"plain.txt": {"Plain words.\n", "", "Plain words."},
	} {
		file := h.attach(map[string]string{name: c.data})
		if len(file.Files) != 1 || !strings.Contains(file.Files[0].Note, c.note) || c.note == "" &&
			file.Files[0].Note != "" {
			t.Errorf("%s attached: %+v", name, file)
			continue
		}
		var kept rest.FileView
		if h.call("GET", apiRoot+"/files/"+file.Files[0].ID, "", http.StatusOK, &kept); kept.Text == nil ||
			!strings.Contains(*kept.Text, c.text) {
			t.Errorf("%s attached: %+v", name, kept)
		}
		res, data := h.do(h.upload(map[string]string{name: c.data}))
		var added struct{ Documents []rest.DocumentView }
		if err := json.Unmarshal(data, &added); err != nil || res.StatusCode != http.StatusOK ||
			len(added.Documents) != 1 {
			t.Errorf("%s added: %d %s", name, res.StatusCode, data)
			continue
		}
		d := added.Documents[0]
		if !strings.Contains(d.Note, c.note) || c.note == "" && d.Note != "" {
			t.Errorf("%s added: %+v", name, d)
		}
		var doc rest.DocumentView
		if h.call("GET", apiRoot+"/documents/"+d.ID, "", http.StatusOK, &doc); doc.Text == nil ||
			!strings.Contains(*doc.Text, c.text) {
			t.Errorf("%s added: %+v", name, doc)
		}
	}
	var found struct{ Hits []struct{ Title string } }
	h.call("GET", apiRoot+"/documents/search?q="+url.QueryEscape("groesse Größe"), "", http.StatusOK, &found)
	if len(found.Hits) != 1 || found.Hits[0].Title != "old" {
		t.Errorf("%+v", found)
	}
}
