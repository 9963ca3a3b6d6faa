// Package textfile reads the bytes of an attached file as text: it tells text
// from what is not, finds the encoding, and names the kind of text.
//
// A name, a media type and bytes come in; UTF-8 text, or an error with a sentence
// for a person, goes out. It must not know owners, stores or HTTP, and it never
// interprets what a text says.
package textfile

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/text/decode"
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
	// Encoding is what the file is written in, as package decode names it.
	Encoding string
	// Note says to a person what reading it took, such as an encoding that was
	// assumed; "" for nothing.
	Note string
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
	if what := decode.Kind(data); what != "" {
		return Text{}, refuse(ErrNotText, "%s is %s. Text can be attached (plain text, Markdown, CSV, JSON, code and "+
			"the like), and PNG, JPEG, GIF and WebP pictures.", t.Name, what)
	}
	read, err := decode.Bytes(data, mediaType)
	switch {
	case errors.Is(err, decode.ErrBinary):
		return Text{}, refuse(ErrNotText, "%s is not text: it has bytes that no text has. Text can be attached, and "+
			"PNG, JPEG, GIF and WebP pictures.", t.Name)
	case err != nil:
		return Text{}, refuse(ErrEncoding, "%s may be text, but its encoding cannot be told. Save it as UTF-8 and "+
			"attach it again.", t.Name)
	case len(read.Text) > MaxBytes:
		return Text{}, refuse(ErrTooLarge, "%s has %s as UTF-8; at most 1 MiB can be attached. Add it to Knowledge, "+
			"or attach the part that matters.", t.Name, size(len(read.Text)))
	}
	t.Text, t.Encoding, t.Note = read.Text, read.Encoding, read.Note()
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
