// Command search is the built-in plugin that searches the user's documents. It
// compiles to a Wasm module; its one tool is internal_search.
//
// Questions come in as queries, passages with the refs to cite them by go out.
// It knows the documents only through the host functions of the capability
// knowledge.
package main

import (
	"errors"
	"fmt"
	"strings"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

const description = "Searches the user's own documents and returns the passages that fit best, each with a ref to " +
	"cite it by. " +
	"Use it for every question that the documents may answer. Give one to five queries: short, in the words that the " +
	"documents would use."

func init() {
	pdk.Register(pdk.Func("internal_search", "Search documents", description, search))
}

func main() {}

// arguments are those of internal_search.
type arguments struct {
	Queries []string `json:"queries" doc:"One to five search queries."`
}

// maxQueries is how many queries are searched; a merged call may bring more.
const maxQueries = 5

// perQuery is how many passages each query asks for.
const perQuery = 10

const example = `Example: {"queries":["how to declare a capability"]}`

// result is one passage that the model reads.
type result struct {
	Ref       int    `json:"ref"`
	Title     string `json:"title"`
	Section   string `json:"section"`
	Source    string `json:"source"`
	UpdatedAt string `json:"updated_at"`
	Content   string `json:"content"`
}

// answer is the whole text for the model.
type answer struct {
	Results []result `json:"results"`
	Note    string   `json:"note,omitempty"`
}

func search(c *pdk.Call, args arguments) (pdk.Result, error) {
	queries, note := clean(args.Queries)
	if len(queries) == 0 {
		return pdk.Fail("internal_search needs at least one query that is not empty. " + example), nil
	}
	lists := make([][]pdk.Hit, len(queries))
	var failed error
	for i, q := range queries {
		hits, err := pdk.KnowledgeSearch(q, perQuery)
		if err != nil {
			failed = err
			continue
		}
		lists[i] = hits
	}
	hits := fuse(lists)
	if len(hits) == 0 && failed != nil {
		return pdk.Fail(sentence(failed)), nil
	}
	a := answer{Results: present(c, hits)}
	switch {
	case len(hits) == 0:
		a.Note = "No document matches " + quoted(queries) + ". Try other words, or say that the documents do not tell."
	case failed != nil:
		a.Note = "Some queries could not be searched. " + sentence(failed)
	default:
		a.Note = note
	}
	return pdk.JSON(a), nil
}

// clean trims queries, drops empty and equal ones and keeps the first five.
func clean(queries []string) (kept []string, note string) {
	seen := map[string]bool{}
	for _, q := range queries {
		q = strings.Join(strings.Fields(q), " ")
		if key := strings.ToLower(q); q != "" && !seen[key] {
			seen[key] = true
			kept = append(kept, q)
		}
	}
	if len(kept) > maxQueries {
		note = fmt.Sprintf("Only the first %d queries were searched.", maxQueries)
		kept = kept[:maxQueries]
	}
	return kept, note
}

// sentence says to the model why the documents were not searched and what to do.
func sentence(err error) string {
	var e *pdk.HostError
	if !errors.As(err, &e) {
		return "The documents cannot be searched: " + err.Error()
	}
	switch e.Kind {
	case pdk.Denied:
		return "The documents may not be searched: " + e.Message +
			" Do not try again; tell the person that an operator can grant it."
	case pdk.Unavailable:
		return "The documents cannot be searched on this host: " + e.Message
	case pdk.Invalid, pdk.Quota:
		return "The search was refused: " + e.Message + " " + example
	default:
		return "The documents cannot be searched now: " + e.Message
	}
}

func quoted(queries []string) string {
	list := make([]string, len(queries))
	for i, q := range queries {
		list[i] = fmt.Sprintf("%q", q)
	}
	return strings.Join(list, ", ")
}
