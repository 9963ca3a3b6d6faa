package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"path"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/text/decode"
	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// fill reads the body as what it is.
func (p *page) fill(res pdk.HTTPResponse) error {
	declared := res.Headers["content-type"]
	media, _, err := mime.ParseMediaType(declared)
	if err != nil {
		media = strings.ToLower(strings.TrimSpace(strings.SplitN(declared, ";", 2)[0]))
	}
	text, err := p.decode(res.Body, declared)
	if err != nil {
		return refusal(fmt.Sprintf("It is %s, not text, and cannot be read here.", named(media)))
	}
	switch kindOf(media, text) {
	case "html":
		return p.fromHTML(text)
	case "json":
		p.Text = indented(text)
	case "text":
		if strings.Contains(media, "xml") && isFeed(text) && p.fromFeed(text) {
			return nil
		}
		p.Text = text
	default:
		return refusal(fmt.Sprintf("It is %s, which cannot be read here.", named(media)))
	}
	p.Text = tidy(p.Text)
	if p.Title == "" {
		p.Title = firstHeading(p.Text)
	}
	if u, err := url.Parse(p.URL); err == nil && p.Title == "" &&
		strings.Contains(strings.Trim(path.Base(u.Path), "."), ".") {
		p.Title = oneLine(path.Base(u.Path), 200)
	}
	return nil
}

func named(media string) string {
	if media == "" {
		return "of a type that is not named"
	}
	return "of the type " + clip(media, 80)
}

// kindOf is html, json, text or "". What the server says counts; the content
// decides where it says nothing.
func kindOf(media, text string) string {
	switch {
	case media == "text/html", media == "application/xhtml+xml":
		return "html"
	case media == "application/json", strings.HasSuffix(media, "+json"), media == "application/ld+json",
		media == "application/x-ndjson":
		return "json"
	case strings.HasPrefix(media, "text/"), media == "application/xml", strings.HasSuffix(media, "+xml"),
		textTypes[media]:
		return "text"
	case media != "" && media != "application/octet-stream" && media != "binary/octet-stream":
		return ""
	}
	head := strings.ToLower(clip(strings.TrimSpace(text), 512))
	switch {
	case strings.HasPrefix(head, "<!doctype html") || strings.Contains(head, "<html") ||
		strings.Contains(head, "<body"):
		return "html"
	case strings.HasPrefix(head, "{") || strings.HasPrefix(head, "["):
		return "json"
	}
	return "text"
}

// textTypes are types that are text without saying so.
var textTypes = map[string]bool{
	"application/javascript": true, "application/x-javascript": true, "application/ecmascript": true,
	"application/x-sh": true,
	"application/yaml": true, "application/x-yaml": true, "application/toml": true, "application/sql": true,
	"application/x-tex": true, "application/x-subrip": true, "application/rtf": false,
}

// decode returns the text in UTF-8. Where nothing tells the encoding, it is that of
// most old pages, as in a browser; what cannot be decoded becomes U+FFFD.
func (p *page) decode(b []byte, declared string) (string, error) {
	t, err := decode.Bytes(b, declared)
	if errors.Is(err, decode.ErrEncoding) {
		t, err = decode.Bytes(b, "text/plain; charset=windows-1252")
	}
	p.Note = t.Loss()
	return t.Text, err
}

// indented is JSON over lines, or the text as it was where it is no JSON.
func indented(text string) string {
	var out bytes.Buffer
	if !json.Valid([]byte(text)) || json.Indent(&out, []byte(text), "", " ") != nil {
		return text
	}
	return out.String()
}

// firstHeading is the first line of a text where that is a heading in Markdown.
func firstHeading(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if heading, ok := strings.CutPrefix(line, "# "); ok {
		return clip(strings.TrimSpace(heading), 200)
	}
	return ""
}

var errDeep = errors.New("the elements are nested too deeply")
