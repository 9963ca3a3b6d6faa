package extract

import (
	"bytes"
	"encoding/binary"
	"mime"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// decode returns data as valid UTF-8 text with LF line ends. It reads UTF-8
// with or without a byte order mark and UTF-16 with one; everything else, and
// text with a zero byte, is ErrBadEncoding.
func decode(data []byte) (string, error) {
	var text string
	switch {
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		text = string(data[3:])
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		return decodeUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return decodeUTF16(data[2:], binary.BigEndian)
	default:
		text = string(data)
	}
	return checked(text)
}

func decodeUTF16(data []byte, order binary.ByteOrder) (string, error) {
	if len(data)%2 != 0 {
		return "", ErrBadEncoding
	}
	var b strings.Builder
	b.Grow(len(data))
	for i := 0; i < len(data); i += 2 {
		r := rune(order.Uint16(data[i:]))
		if utf16.IsSurrogate(r) {
			if i+4 > len(data) {
				return "", ErrBadEncoding
			}
			r = utf16.DecodeRune(r, rune(order.Uint16(data[i+2:])))
			if r == utf8.RuneError {
				return "", ErrBadEncoding
			}
			i += 2
		}
		b.WriteRune(r)
	}
	return checked(b.String())
}

// checked refuses what is not text and makes line ends LF.
func checked(text string) (string, error) {
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return "", ErrBadEncoding
	}
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	return text, nil
}

var metaCharset = regexp.MustCompile(`(?i)<meta[^>]+charset\s*=`)

// decodeHTML reads a page: first as decode does, then in the charset that its
// media type or its meta element declares. A guess is not enough.
func decodeHTML(data []byte, mediaType string) (string, error) {
	text, err := decode(data)
	if err == nil {
		return text, nil
	}
	if _, _, perr := mime.ParseMediaType(mediaType); perr != nil {
		mediaType = ""
	}
	head := data[:min(len(data), 1024)] // where a page must declare it
	enc, name, certain := charset.DetermineEncoding(head, mediaType)
	if !certain && !metaCharset.Match(head) || name == "utf-8" {
		return "", err
	}
	decoded, derr := enc.NewDecoder().Bytes(data)
	if derr != nil || bytes.ContainsRune(decoded, utf8.RuneError) {
		return "", err
	}
	return checked(string(decoded))
}
