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
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// fill reads the body as what it is.
func (p *page) fill(res pdk.HTTPResponse) error {
	declared := res.Headers["content-type"]
	media, _, err := mime.ParseMediaType(declared)
	if err != nil {
		media = strings.ToLower(strings.TrimSpace(strings.SplitN(declared, ";", 2)[0]))
	}
	if isBinary(res.Body, declared) {
		return refusal(fmt.Sprintf("It is %s, not text, and cannot be read here.", named(media)))
	}
	text := decode(res.Body, declared)
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

// isBinary tells whether bytes are no text in any encoding that is in use: they
// have zero bytes, and nothing says UTF-16 or UTF-32, or begin as a known format.
func isBinary(b []byte, declared string) bool {
	head := b[:min(len(b), 4096)]
	for _, magic := range []string{"%PDF-", "\x89PNG", "GIF8", "\xff\xd8\xff", "PK\x03\x04", "\x1f\x8b", "RIFF",
		"\x7fELF", "\x00asm", "OggS", "ID3"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) ||
		strings.Contains(strings.ToLower(declared), "utf-16") {
		return false
	}
	return bytes.IndexByte(head, 0) >= 0
}

// decode returns the text in UTF-8; what cannot be decoded becomes U+FFFD.
func decode(b []byte, declared string) string {
	e, name, certain := charset.DetermineEncoding(b, declared)
	unicodeMark := bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff"))
	switch {
	case !unicodeMark && utf8.Valid(b) && name != "iso-2022-jp" && !strings.HasPrefix(name, "utf-16"):
		// Text that is valid UTF-8 and more than ASCII is hardly ever anything else.
		return strings.TrimPrefix(string(b), "\ufeff")
	case !certain:
		if r, err := chardet.NewHtmlDetector().DetectBest(b[:min(len(b), 64<<10)]); err == nil && r.Confidence >= 30 {
			if found, _ := charset.Lookup(r.Charset); found != nil {
				e = found
			}
		}
	}
	out, err := e.NewDecoder().Bytes(b)
	if err != nil {
		out = b
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(out), "\uFFFD"), "\ufeff")
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
