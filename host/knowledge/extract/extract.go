// Package extract turns the bytes of one document into text and the blocks
// that the text is made of.
//
// In comes a file's name, media type and bytes: Markdown, plain text or HTML.
// Out goes a title, a text (Markdown or plain) and, from Blocks, a list of
// headings, paragraphs, list items, code blocks and tables as byte ranges that
// cover that text without gap or overlap. HTML is rewritten as Markdown, so the
// stored text alone is enough to find the blocks again.
//
// It must not know owners, stores or indexes, and it never fetches anything:
// links and images stay text.
package extract

import (
	"errors"
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/text/decode"
)

// MaxBytes is the largest document that is accepted, in bytes as read (8 MiB).
const MaxBytes = 8 << 20

// maxTitle is the longest title that is kept, in code points.
const maxTitle = 200

var (
	// ErrUnsupportedType is returned when a document is neither Markdown, nor
	// plain text, nor HTML, by its media type and its name.
	ErrUnsupportedType = errors.New("this kind of document is not supported; add Markdown, plain text or HTML")
	// ErrTooLarge is returned when a document is larger than MaxBytes.
	ErrTooLarge = errors.New("the document is larger than 8 MiB; split it and add the parts")
	// ErrBadEncoding is returned when a document's bytes are not text, or text in an
	// encoding that package decode cannot tell.
	ErrBadEncoding = errors.New("the document is not readable text; save it as UTF-8 and add it again")
	// ErrTooDeep is returned when an HTML page nests its elements deeper than
	// any real page does.
	ErrTooDeep = errors.New("the page nests its elements too deeply to be read")
)

// Format says how a text is written.
type Format string

// The formats of extracted text.
const (
	Markdown Format = "markdown"
	Plain    Format = "plain"
)

// Input is a document as it came. Extract does not keep Data.
type Input struct {
	Name      string // file name; its extension decides when MediaType says nothing
	MediaType string // "" or application/octet-stream when not known
	Data      []byte
}

// Output is what Extract found in a document.
type Output struct {
	Title     string // never empty for a named document; at most 200 code points
	MediaType string // text/markdown, text/plain or text/html
	Format    Format // how Text is written
	Text      string // valid UTF-8 with LF line ends; front matter and page clutter are gone
	Note      string // says to a person what reading took, such as an assumed encoding; "" for nothing
}

// Extract reads one document. It returns ErrUnsupportedType, ErrTooLarge,
// ErrBadEncoding or ErrTooDeep, wrapped with the document's name. It is safe
// for concurrent use.
func Extract(in Input) (Output, error) {
	out, err := extract(in)
	if err != nil {
		return Output{}, fmt.Errorf("read %q: %w", path.Base(slashed(in.Name)), err)
	}
	if out.Title == "" {
		out.Title = nameTitle(in.Name)
	}
	out.Title = clip(out.Title, maxTitle)
	return out, nil
}

func extract(in Input) (Output, error) {
	if len(in.Data) > MaxBytes {
		return Output{}, ErrTooLarge
	}
	mediaType, ok := MediaType(in.Name, in.MediaType)
	if !ok {
		return Output{}, ErrUnsupportedType
	}
	read, err := decode.Bytes(in.Data, in.MediaType)
	if err != nil {
		return Output{}, fmt.Errorf("%w: %w", ErrBadEncoding, err)
	}
	if len(read.Text) > MaxBytes {
		return Output{}, ErrTooLarge
	}
	text := read.Text
	out := Output{MediaType: mediaType, Format: Markdown, Text: text, Note: read.Note()}
	switch mediaType {
	case typePlain:
		out.Format = Plain
	case typeMarkdown:
		out.Title, out.Text = markdownTitle(text)
	case typeHTML:
		out.Title, out.Text, err = fromHTML(text)
	}
	return out, err
}

const (
	typeMarkdown = "text/markdown"
	typePlain    = "text/plain"
	typeHTML     = "text/html"
)

var byExtension = map[string]string{
	".md": typeMarkdown, ".markdown": typeMarkdown, ".mdown": typeMarkdown, ".mkd": typeMarkdown,
	".txt": typePlain, ".text": typePlain,
	".html": typeHTML, ".htm": typeHTML, ".xhtml": typeHTML,
}

var byMediaType = map[string]string{
	typeMarkdown: typeMarkdown, "text/x-markdown": typeMarkdown,
	typeHTML: typeHTML, "application/xhtml+xml": typeHTML,
}

// MediaType returns the supported media type of a document from its name and
// the media type that came with it, and false when the type is not supported.
// A declared text/plain yields to a known extension, because many clients send
// Markdown so; a name without an extension is plain text only if declared so.
func MediaType(name, declared string) (string, bool) {
	base, _, err := mime.ParseMediaType(declared)
	if err != nil {
		base, _, _ = strings.Cut(declared, ";")
		base = strings.ToLower(strings.TrimSpace(base))
	}
	if t, ok := byMediaType[base]; ok {
		return t, true
	}
	t, known := byExtension[strings.ToLower(path.Ext(slashed(name)))]
	switch base {
	case "", "application/octet-stream":
		return t, known
	case typePlain:
		if known {
			return t, true
		}
		return typePlain, true
	}
	return "", false
}

func slashed(name string) string { return strings.ReplaceAll(name, `\`, "/") }

// nameTitle makes a title of a file name: its last element without extension.
func nameTitle(name string) string {
	base := path.Base(slashed(strings.ToValidUTF8(name, "")))
	if base == "." || base == "/" {
		return "Untitled"
	}
	if stem := strings.TrimSuffix(base, path.Ext(base)); stem != "" {
		base = stem
	}
	return base
}

// clip folds white space and cuts s to at most n code points.
func clip(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n-1])) + "…"
}
