package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// serve answers knowledge_search from lists by query, and other blocks as given.
func serve(t *testing.T, answers map[string]any) *[]string {
	t.Helper()
	var asked []string
	t.Cleanup(pdk.SetHost(pdk.HostFunc(func(function string, in []byte) []byte {
		var args struct {
			Query string
			Limit int
		}
		if err := json.Unmarshal(in, &args); err != nil || function != "knowledge_search" || args.Limit != perQuery {
			t.Errorf("asked %s %s", function, in)
		}
		asked = append(asked, args.Query)
		if block, ok := answers[args.Query].(string); ok {
			return []byte(block)
		}
		hits, _ := answers[args.Query].([]pdk.Hit)
		out, err := json.Marshal(map[string]any{"ok": map[string]any{"hits": hits}})
		if err != nil {
			t.Error(err)
		}
		return out
	})))
	return &asked
}

type output struct {
	Content []struct{ Text string }
	IsError bool
	Meta    struct {
		Documents []pdk.Document `json:"bulkhead/documents"`
	} `json:"_meta"`
}

func run(t *testing.T, arguments, meta string) (output, answer) {
	t.Helper()
	data, err := pdk.CallTool(fmt.Appendf(nil, `{"request":{"name":"internal_search","arguments":%s},"context":{"id":"c","_meta":%s}}`, arguments, meta))
	if err != nil {
		t.Fatal(err)
	}
	var out output
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	var a answer
	if !out.IsError {
		if err := json.Unmarshal([]byte(out.Content[0].Text), &a); err != nil {
			t.Fatalf("text %s: %v", out.Content[0].Text, err)
		}
	}
	return out, a
}

const refs = `{"bulkhead/refs":{"start":101,"count":100}}`

func hit(doc, chunk string) pdk.Hit {
	return pdk.Hit{DocumentID: doc, ChunkID: chunk, Title: "T " + doc, Section: "A › B", Content: "passage " + chunk,
		Snippet: "s", UpdatedAt: "2026-01-02T00:00:00Z"}
}

func TestPassagesOfOneDocumentShareItsRef(t *testing.T) {
	serve(t, map[string]any{"q": []pdk.Hit{hit("d1", "1"), hit("d2", "1"), hit("d1", "2")}})
	out, a := run(t, `{"queries":["q"]}`, refs)
	var got []int
	for _, r := range a.Results {
		got = append(got, r.Ref)
	}
	if !slices.Equal(got, []int{101, 102, 101}) {
		t.Fatalf("refs are %v", got)
	}
	if d := out.Meta.Documents; len(d) != 2 || d[0].ID != "d1" || d[0].Ref != 101 || d[0].Source != "knowledge" ||
		d[1].Title != "T d2" {
		t.Fatalf("documents are %+v", d)
	}
	if r := a.Results[0]; r.Section != "A › B" || r.Content != "passage 1" || r.UpdatedAt == "" || a.Note != "" {
		t.Fatalf("result is %+v, note %q", r, a.Note)
	}
}

func TestKnownDocumentsKeepTheirRef(t *testing.T) {
	serve(t, map[string]any{"q": []pdk.Hit{hit("d1", "1"), hit("d2", "1")}})
	_, a := run(t, `{"queries":["q"]}`, `{"bulkhead/refs":{"start":101,"count":100},"bulkhead/citations":{"d1":7}}`)
	if a.Results[0].Ref != 7 || a.Results[1].Ref != 101 {
		t.Fatalf("results are %+v", a.Results)
	}
}

func TestQueriesAreFusedByRank(t *testing.T) {
	serve(t, map[string]any{
		"one": []pdk.Hit{hit("only1", "1"), hit("both", "1")},
		"two": []pdk.Hit{hit("only2", "1"), hit("both", "1"), hit("last", "1")},
	})
	_, a := run(t, `{"queries":["one","two"]}`, refs)
	var got []string
	for _, r := range a.Results {
		got = append(got, strings.TrimPrefix(r.Title, "T "))
	}
	if want := []string{"both", "only1", "only2", "last"}; !slices.Equal(got, want) {
		t.Fatalf("order is %v, want %v", got, want)
	}
}

func TestQueriesAreCleaned(t *testing.T) {
	asked := serve(t, nil)
	_, a := run(t, `{"queries":["  a  b ","A b","","c","d","e","f","g"]}`, refs)
	if !slices.Equal(*asked, []string{"a b", "c", "d", "e", "f"}) {
		t.Fatalf("asked %v", *asked)
	}
	if a.Results == nil || !strings.HasPrefix(a.Note, `No document matches "a b", "c"`) {
		t.Fatalf("answer is %+v", a)
	}
}

func TestTextForTheModelIsCapped(t *testing.T) {
	var long []pdk.Hit
	for i := range 10 {
		h := hit(fmt.Sprint("d", i), "1")
		h.Content = strings.Repeat("wörter und mehr ", 400)
		long = append(long, h)
	}
	serve(t, map[string]any{"q": long})
	out, a := run(t, `{"queries":["q"]}`, refs)
	total := 0
	for _, r := range a.Results {
		n := len([]rune(r.Content))
		if n > maxPassage || !strings.HasSuffix(r.Content, "…") {
			t.Errorf("a passage has %d characters", n)
		}
		total += n
	}
	if total > maxTotal || total < maxTotal/2 {
		t.Errorf("%d characters in all", total)
	}
	if len(out.Meta.Documents) != len(a.Results) {
		t.Errorf("%d documents for %d results", len(out.Meta.Documents), len(a.Results))
	}
}

func TestWhatCannotBeSearchedIsSaid(t *testing.T) {
	block := func(kind, message string) string {
		return fmt.Sprintf(`{"error":{"kind":%q,"message":%q}}`, kind, message)
	}
	serve(t, map[string]any{
		"denied":      block("denied", "The capability knowledge was not granted."),
		"unavailable": block("unavailable", "No index."),
		"failed":      block("failed", "It broke."), "good": []pdk.Hit{hit("d", "1")},
	})
	for arguments, says := range map[string]string{
		`{"queries":["denied"]}`:      "an operator can grant it",
		`{"queries":["unavailable"]}`: "on this host: No index.",
		`{"queries":["failed"]}`:      "now: It broke.",
		`{"queries":[]}`:              example,
		`{"queries":[" "]}`:           example,
		`{"query":"x"}`:               `"query"`,
	} {
		out, _ := run(t, arguments, refs)
		if !out.IsError || !strings.Contains(out.Content[0].Text, says) {
			t.Errorf("%s: %+v", arguments, out)
		}
	}
	out, a := run(t, `{"queries":["good","failed"]}`, refs)
	if out.IsError || len(a.Results) != 1 || !strings.Contains(a.Note, "It broke.") {
		t.Errorf("half of it: %+v", a)
	}
}
