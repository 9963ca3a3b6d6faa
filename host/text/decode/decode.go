// Package decode reads bytes as text: one rule for documents, attached files and
// pages, in the host and in plugins.
//
// Bytes come in, with the type that a sender declared; valid UTF-8 goes out, with
// the encoding that was read and how much of it could not be. It must not know
// where the bytes are from, nor what the text is for.
package decode

import (
	"errors"
	"strings"
	"unicode/utf8"
)

var (
	// ErrBinary is returned when bytes are not text.
	ErrBinary = errors.New("this is not text")
	// ErrEncoding is returned when bytes may be text in an encoding that cannot be
	// told.
	ErrEncoding = errors.New("the encoding of this text cannot be told")
)

// Text is what was read.
type Text struct {
	// Text is valid UTF-8 with LF line ends, without a byte order mark and without
	// control characters but those of white space, backspace and escape.
	Text string
	// Encoding is the name of the encoding in lower case, as the web knows it, or
	// utf-32le and utf-32be.
	Encoding string
	// Assumed tells that neither a mark nor the sender nor the bytes themselves say
	// so for certain.
	Assumed bool
	// Replaced is how many pieces of a character could not be read; each is U+FFFD in
	// Text.
	Replaced int
	// Dropped is how many control characters, such as NUL, were left out.
	Dropped int
}

// Bytes reads data. ContentType is the media type that came with it, or "". It
// returns ErrBinary or ErrEncoding, keeps nothing of data, and is safe for concurrent
// use.
func Bytes(data []byte, contentType string) (Text, error) {
	if Kind(data) != "" {
		return Text{}, ErrBinary
	}
	t, found := marked(data)
	if !found {
		t, found = wide(data)
	}
	if found {
		if oddities(t.Text)*10 > max(utf8.RuneCountInString(t.Text), 10) {
			return Text{}, ErrBinary
		}
		t.tidy()
		return t, nil
	}
	return narrow(data, contentType)
}

// readers are asked in this order, the more certain ones first.
var readers = []func(data []byte, contentType string) (Text, bool){
	stateful, strictUTF8, declared, nearlyUTF8, latin, multibyte, singleByte, lossyUTF8,
}

// narrow reads what is not UTF-16 or UTF-32.
func narrow(data []byte, contentType string) (Text, error) {
	clean, dropped := withoutControls(data)
	if dropped*10 > max(len(clean), 10) && !padded(data, clean) {
		return Text{}, ErrBinary
	}
	for _, read := range readers {
		if t, ok := read(clean, contentType); ok {
			t.Dropped = dropped
			t.tidy()
			return t, nil
		}
	}
	if dropped > 0 {
		return Text{}, ErrBinary
	}
	return Text{}, ErrEncoding
}

// tidy makes line ends LF and removes control characters that came out of an encoding.
func (t *Text) tidy() {
	t.Text = strings.TrimPrefix(t.Text, "\ufeff")
	if strings.IndexByte(t.Text, '\r') >= 0 {
		t.Text = strings.ReplaceAll(strings.ReplaceAll(t.Text, "\r\n", "\n"), "\r", "\n")
	}
	if strings.IndexFunc(t.Text, control) < 0 {
		return
	}
	t.Text = strings.Map(func(r rune) rune {
		if control(r) {
			t.Dropped++
			return -1
		}
		return r
	}, t.Text)
}
