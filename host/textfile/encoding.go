package textfile

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	textunicode "golang.org/x/text/encoding/unicode"
)

// decode returns data as UTF-8 and the name of its encoding: by a byte order mark,
// as UTF-8 where it is valid, as UTF-16 where every other byte is zero, and as
// Windows-1252, which holds ISO-8859-1's letters, where that gives words. It
// returns ErrNotText for what has bytes that no text has, and ErrEncoding for what
// is none of these.
func decode(data []byte) (text, name string, err error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		text, name = string(data[3:]), "utf-8"
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), zeros(data, 1):
		text, name = utf16Text(data, textunicode.LittleEndian), "utf-16le"
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}), zeros(data, 0):
		text, name = utf16Text(data, textunicode.BigEndian), "utf-16be"
	case utf8.Valid(data):
		text, name = string(data), "utf-8"
	default:
		if hasControls(string(data)) {
			return "", "", ErrNotText
		}
		text, name = latin(data), "windows-1252"
	}
	if text == "" && len(bytes.TrimPrefix(data, []byte{0xef, 0xbb, 0xbf})) > 2 || !utf8.ValidString(text) {
		return "", "", ErrEncoding
	}
	if hasControls(text) {
		return "", "", ErrNotText
	}
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return text, name, nil
}

// sample is how much is looked at to tell UTF-16 without a mark.
const sample = 4096

// zeros tells whether data is UTF-16 of mostly Latin text: at least half of the
// bytes at one parity are zero, and none at the other.
func zeros(data []byte, parity int) bool {
	if len(data) < 4 || len(data)%2 != 0 {
		return false
	}
	data = data[:min(len(data), sample)]
	n := 0
	for i, c := range data {
		if c != 0 {
			continue
		}
		if i%2 != parity {
			return false
		}
		n++
	}
	return n >= len(data)/4
}

// utf16Text returns "" for what is not UTF-16.
func utf16Text(data []byte, order textunicode.Endianness) string {
	if len(data)%2 != 0 {
		return ""
	}
	return strict(textunicode.UTF16(order, textunicode.UseBOM), data, "\uFFFD")
}

// strict decodes and returns "" where a character could not be read.
func strict(e encoding.Encoding, data []byte, bad string) string {
	out, err := e.NewDecoder().Bytes(data)
	if err != nil || bytes.Contains(out, []byte(bad)) {
		return ""
	}
	return string(out)
}

// latin reads Windows-1252 and returns "" where that gives no words: letters of
// other scripts in other encodings become runs of signs and capitals.
func latin(data []byte) string {
	text := strict(charmap.Windows1252, data, "\uFFFD")
	high, odd, run, longest := 0, 0, 0, 0
	for _, r := range text {
		if r < utf8.RuneSelf {
			run = 0
			continue
		}
		high++
		if run++; run > longest {
			longest = run
		}
		if !unicode.IsLetter(r) && !strings.ContainsRune("€‚„…‘’“”•–—™£§©«®°±²³·»¿¡\u00a0µ½¼¾ºª¶¹¢¥¨´¸×÷¬", r) ||
			r >= 0x80 && r < 0xa0 {
			odd++
		}
	}
	if odd > 0 || longest > 3 || high*4 > len(data) {
		return ""
	}
	return text
}

// hasControls tells of characters that no text has.
func hasControls(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\r\f\v\x1b\b", r) || r == 0x7f
	}) >= 0
}
