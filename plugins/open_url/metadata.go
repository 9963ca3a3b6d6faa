package main

import (
	"encoding/json"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// dateFields are the names of meta elements that hold a date, the best first.
var dateFields = []string{
	"article:modified_time", "article:published_time", "og:updated_time", "datemodified", "datepublished",
	"dc.date.modified", "dc.date.issued",
	"dc.date", "dcterms.modified", "dcterms.created", "last-modified", "date", "pubdate", "publishdate",
	"parsely-pub-date", "sailthru.date",
}

// metadata reads the title and the date of a page; "" for what it does not say.
func metadata(doc *html.Node) (title, date string) {
	fields := map[string]string{}
	var heading, named string
	var dates []string
	elements(doc, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Meta:
			key := strings.ToLower(attr(n, "property") + attr(n, "name") + attr(n, "itemprop"))
			if _, there := fields[key]; !there {
				fields[key] = attr(n, "content")
			}
		case atom.Title:
			if named == "" && !inside(n, is(atom.Svg)) && n.FirstChild != nil {
				named = n.FirstChild.Data
			}
		case atom.H1:
			if heading == "" {
				heading = textOf(n, 400)
			}
		case atom.Time:
			dates = append(dates, attr(n, "datetime"))
		case atom.Script:
			if strings.Contains(attr(n, "type"), "ld+json") && n.FirstChild != nil && len(dates) < 100 {
				dates = append(linkedDates(n.FirstChild.Data), dates...)
			}
		}
		return true
	})
	for _, candidate := range []string{fields["og:title"], fields["twitter:title"], named, heading} {
		if title = oneLine(candidate, 200); title != "" {
			break
		}
	}
	// A site that names itself in every title says more in its heading.
	if h := oneLine(heading, 200); h != "" && len(h) > 3 && strings.HasPrefix(title, h) {
		title = h
	}
	for _, name := range dateFields {
		if date = readDate(fields[name]); date != "" {
			return title, date
		}
	}
	for _, d := range dates {
		if date = readDate(d); date != "" {
			return title, date
		}
	}
	return title, ""
}

// linkedDates are the dates in a page's JSON-LD.
func linkedDates(source string) []string {
	var v any
	if json.Unmarshal([]byte(source), &v) != nil {
		return nil
	}
	found := map[string]string{}
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		if depth > 5 {
			return
		}
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e, depth+1)
			}
		case map[string]any:
			for _, key := range []string{"dateModified", "datePublished"} {
				if s, ok := v[key].(string); ok && found[key] == "" {
					found[key] = s
				}
			}
			walk(v["@graph"], depth+1)
			walk(v["mainEntity"], depth+1)
		}
	}
	walk(v, 0)
	return []string{found["dateModified"], found["datePublished"]}
}

var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00",
	"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05",
	"2006-01-02 15:04", "2006-01-02", "2006/01/02", "02.01.2006", "2 January 2006", "January 2, 2006", "Jan 2, 2006",
	time.RFC1123, time.RFC1123Z, "20060102",
}

// readDate returns a date in RFC 3339, "" for what is none of the forms in use or
// not of our times.
func readDate(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 64 {
		return ""
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 && t.Year() < 2200 {
			return t.UTC().Format(time.RFC3339)
		}
	}
	return ""
}
