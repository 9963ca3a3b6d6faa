package main

import (
	"fmt"
	"strings"
	"testing"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// opened is what read makes of a page of that HTML.
func opened(t *testing.T, html string) (page, error) {
	t.Helper()
	return read("https://site.example/dir/page", pdk.HTTPResult{Response: pdk.HTTPResponse{
		Status: 200, Headers: map[string]string{"content-type": "text/html; charset=utf-8"},
		FinalURL: "https://site.example/dir/page", Body: []byte(html),
	}})
}

func TestMainContentIsWholeAndClutterIsGone(t *testing.T) {
	all := shapes()
	if len(all) < 40 {
		t.Fatalf("there are only %d shapes of pages", len(all))
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			p, err := opened(t, s.html)
			if err != nil {
				t.Fatal(err)
			}
			rest := p.Text
			for i := 1; i <= s.keep; i++ {
				mark := fmt.Sprintf("KEEP%03d", i)
				_, after, found := strings.Cut(rest, mark)
				if !found {
					t.Fatalf("%s is missing or out of order in\n%s", mark, p.Text)
				}
				rest = after
			}
			for _, want := range s.has {
				if !strings.Contains(p.Text, want) {
					t.Errorf("%q is missing in\n%s", want, p.Text)
				}
			}
			if strings.Contains(p.Text, "CLUTTER") {
				t.Errorf("clutter in\n%s", p.Text)
			}
			if strings.Contains(p.Text, "](javascript:") || strings.Contains(p.Text, "![") ||
				strings.Contains(p.Text, "<script") {
				t.Errorf("something that could load or run in\n%s", p.Text)
			}
			if s.title != "" && p.Title != s.title {
				t.Errorf("title is %q, want %q", p.Title, s.title)
			}
		})
	}
}
