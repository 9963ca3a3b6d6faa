package main

import (
	"strings"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// The caps on what the model reads, in characters.
const (
	maxTotal   = 12_000
	maxPassage = 3_000
	minPassage = 200
)

// maxResults is how many passages go out.
const maxResults = 12

// source is where documents of this tool live.
const source = "knowledge"

// present gives each passage its ref, the same for all of one document, and cuts
// what is too long. A passage whose document gets no ref is left out, because it
// could not be cited.
func present(c *pdk.Call, hits []pdk.Hit) []result {
	results := []result{}
	left := maxTotal
	for _, h := range hits {
		if len(results) == maxResults || left < minPassage {
			break
		}
		ref := c.Cite(pdk.Document{
			ID: h.DocumentID, Title: h.Title, URL: h.URL, Snippet: snippet(h), Source: source, UpdatedAt: h.UpdatedAt,
		})
		if ref == 0 {
			continue
		}
		content, n := cut(h.Content, min(maxPassage, left))
		left -= n
		results = append(results, result{ref, h.Title, h.Section, source, h.UpdatedAt, content})
	}
	return results
}

// snippet is what a person sees of the document.
func snippet(h pdk.Hit) string {
	if h.Snippet != "" {
		return h.Snippet
	}
	text, _ := cut(h.Content, 240)
	return text
}

// cut shortens a text to n characters, at the end of a line or word where one is
// near, and returns how many it kept.
func cut(text string, n int) (string, int) {
	runes := []rune(text)
	if len(runes) <= n {
		return text, len(runes)
	}
	head := string(runes[:n-1])
	for _, at := range []int{strings.LastIndexByte(head, '\n'), strings.LastIndexByte(head, ' ')} {
		if at > len(head)*3/4 {
			head = head[:at]
			break
		}
	}
	return head + "…", len([]rune(head)) + 1
}
