// Package textfile reads the bytes of an attached file as text: it tells text
// from what is not, finds the encoding, and names the kind of text.
//
// A name, a media type and bytes come in; UTF-8 text, or an error with a sentence
// for a person, goes out. It must not know owners, stores or HTTP, and it never
// interprets what a text says.
package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// MaxBytes is the largest file that is read (1 MiB).
const MaxBytes = 1 << 20

// maxNameRunes is the longest name that is kept, in code points.
const maxNameRunes = 200

var (
	// ErrTooLarge is matched when a file has more than MaxBytes.
	ErrTooLarge = errors.New("the file is too large")
	// ErrNotText is matched when a file is not text.
	ErrNotText = errors.New("the file is not text")
	// ErrEncoding is matched when a file may be text in an encoding that cannot be
	// told.
	ErrEncoding = errors.New("the file's encoding cannot be told")
)

// Error is why a file cannot be read. It matches one of the sentinels.
type Error struct {
	// Message is a sentence for a person.
	Message string
	kind    error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.kind }

func refuse(kind error, format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...), kind}
}

// Text is a file that was read.
type Text struct {
	// Name is the file's own without folders and without control characters, at
	// most 200 code points.
	Name string
	// MediaType is such as text/csv.
	MediaType string
	// Encoding is utf-8, utf-16le, utf-16be or windows-1252.
	Encoding string
	// Text is UTF-8 with LF line ends and without a byte order mark.
	Text string
}

// Read reads a file. It returns an *Error that matches ErrTooLarge, ErrNotText or
// ErrEncoding. It is safe for concurrent use.
func Read(name, mediaType string, data []byte) (Text, error) {
	t := Text{Name: CleanName(name)}
	if len(data) > MaxBytes {
		return Text{}, refuse(ErrTooLarge, "%s has %s; at most 1 MiB can be attached. Add it to Knowledge, or attach "+
			"the part that matters.", t.Name, size(len(data)))
	}
	if what := binary(data); what != "" {
		return Text{}, refuse(ErrNotText, "%s is %s. Text can be attached (plain text, Markdown, CSV, JSON, code and "+
			"the like), and PNG, JPEG, GIF and WebP pictures.", t.Name, what)
	}
	var err error
	if t.Text, t.Encoding, err = decode(data); err != nil {
		if errors.Is(err, ErrNotText) {
			return Text{}, refuse(ErrNotText, "%s is not text: it has bytes that no text has. Text can be attached, "+
				"and PNG, JPEG, GIF and WebP pictures.", t.Name)
		}
		return Text{}, refuse(ErrEncoding, "%s may be text, but its encoding cannot be told. Save it as UTF-8 and "+
			"attach it again.", t.Name)
	}
	t.MediaType = mediaTypeOf(t.Name, mediaType)
	return t, nil
}

// CleanName is the last part of a name, as a person may read it: without folders
// and control characters, at most 200 code points, "file" for none.
func CleanName(name string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), `\`, "/"))
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		// Marks that turn the direction of writing could hide the ending.
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' &&
			r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return -1
		}
		return r
	}, name))
	if runes := []rune(name); len(runes) > maxNameRunes {
		ending := path.Ext(name)
		if utf8.RuneCountInString(ending) > 20 {
			ending = ""
		}
		name = string(runes[:maxNameRunes-1-utf8.RuneCountInString(ending)]) + "…" + ending
	}
	if name == "" || name == "." || name == "/" {
		return "file"
	}
	return name
}

func size(n int) string {
	if n < 10<<20 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// magic are the beginnings of kinds of files that people attach, with what to
// call them.
var magic = []struct{ begins, what string }{
	{"%PDF-", "a PDF"},
	{"\x89PNG\r\n", "an image"}, {"\xff\xd8\xff", "an image"}, {"GIF87a", "an image"}, {"GIF89a", "an image"},
	{"PK\x03\x04", "a ZIP archive or an office document"}, {"\xd0\xcf\x11\xe0", "an old office document"},
	{"\x1f\x8b", "a compressed file"}, {"BZh", "a compressed file"}, {"\xfd7zXZ\x00", "a compressed file"},
	{"7z\xbc\xaf\x27\x1c", "an archive"}, {"Rar!\x1a", "an archive"}, {"\x28\xb5\x2f\xfd", "a compressed file"},
	{"\x7fELF", "a program"}, {"MZ", "a program"}, {"\x00asm", "a WebAssembly module"},
	{"SQLite format 3\x00", "a database"}, {"ID3", "a sound"}, {"OggS", "a sound or a film"},
	{"{\\rtf", "a rich text document"},
}

// binary tells in words what data is if it is a known kind of file that is not
// text, "" else. A beginning made of letters counts only where more speaks for it.
func binary(data []byte) string {
	for _, m := range magic {
		if !bytes.HasPrefix(data, []byte(m.begins)) {
			continue
		}
		plain := strings.IndexFunc(m.begins, func(r rune) bool { return r < ' ' || r >= 0x7f }) < 0
		if plain && m.begins != "%PDF-" && m.begins != "{\\rtf" && bytes.IndexByte(data, 0) < 0 {
			continue
		}
		return m.what
	}
	return ""
}
