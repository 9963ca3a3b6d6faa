package knowledge_test

import (
	"path/filepath"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/knowledge/gather"
)

// shelve adds the documents at paths for ann and returns how many they are.
func (h *house) shelve(paths ...string) int {
	h.t.Helper()
	n := 0
	for src, err := range gather.Walk(paths) {
		if err != nil {
			h.t.Fatal(err)
		}
		if _, err := h.base.Add(h.t.Context(), h.ann, src); err != nil {
			h.t.Fatal(err)
		}
		n++
	}
	return n
}

func TestQuestionsFindTheRightDocument(t *testing.T) {
	h := newHouse(t)
	if n := h.shelve("testdata/docs"); n < 10 {
		t.Fatalf("%d documents", n)
	}
	for question, want := range map[string]string{
		"How do I declare a capability?":                     "plugin-guide.md",
		"who can read my conversations":                      "operator.md",
		"why WebAssembly and not a process?":                 "sandbox.md",
		"Can I use a model without internet or weights?":     "models.md",
		"what happens when a client reloads the page":        "packets.md",
		"are redirects checked?":                             "network.md",
		"How are passages ranked?":                           "knowledge.md",
		"restore a damaged data file":                        "troubleshooting.md",
		"moving to another machine":                          "install.md",
		"how do I add a new host function to the catalogue?": "contributing.md",
	} {
		hits := h.search(h.ann, question)
		if len(hits) == 0 || filepath.Base(hits[0].URI) != want {
			t.Errorf("%q found %q, want %s first", question, found(hits), want)
		}
	}
}

func TestCapabilityQuestionFindsThePluginKitsReadme(t *testing.T) {
	readme := filepath.Join("..", "..", "pdk", "README.md")
	h := newHouse(t)
	h.shelve(readme, "../../README.md", "../../CONTRIBUTING.md")
	// The plugin kit's page has to win over the other pages of testdata, too, but
	// for the one that answers the same question.
	for src, err := range gather.Walk([]string{"testdata/docs"}) {
		if err != nil {
			t.Fatal(err)
		}
		if src.Name == "plugin-guide.md" {
			continue
		}
		if _, err := h.base.Add(t.Context(), h.ann, src); err != nil {
			t.Fatal(err)
		}
	}
	hits, err := h.base.Search(t.Context(), h.ann, knowledge.Query{Text: "How do I declare a capability?"})
	if err != nil || len(hits) == 0 {
		t.Fatal(len(hits), err)
	}
	if want, _ := filepath.Abs(readme); hits[0].URI != want {
		t.Errorf("found %q, want %s first", found(hits), want)
	}
}
