package decode

import (
	"bytes"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	textunicode "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// form is an encoding with units of two or four bytes.
type form struct {
	name, mark string
	unit       int
	encoding   encoding.Encoding
}

// forms has the longer marks first: UTF-16's is the beginning of UTF-32's.
var forms = []form{
	{"utf-32le", "\xff\xfe\x00\x00", 4, utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)},
	{"utf-32be", "\x00\x00\xfe\xff", 4, utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)},
	{"utf-16le", "\xff\xfe", 2, textunicode.UTF16(textunicode.LittleEndian, textunicode.IgnoreBOM)},
	{"utf-16be", "\xfe\xff", 2, textunicode.UTF16(textunicode.BigEndian, textunicode.IgnoreBOM)},
}

// marked reads what begins with a byte order mark of more than UTF-8.
func marked(data []byte) (Text, bool) {
	if rest, ok := bytes.CutPrefix(data, []byte("\x84\x31\x95\x33")); ok {
		return through("gb18030", simplifiedchinese.GB18030, rest), true
	}
	for _, f := range forms {
		if rest, ok := bytes.CutPrefix(data, []byte(f.mark)); ok {
			return through(f.name, f.encoding, rest), true
		}
	}
	return Text{}, false
}

// through decodes data and counts what could not be read.
func through(name string, e encoding.Encoding, data []byte) Text {
	out, err := e.NewDecoder().Bytes(data)
	text := strings.ToValidUTF8(string(out), "\uFFFD")
	t := Text{Text: text, Encoding: name, Replaced: strings.Count(text, "\uFFFD")}
	if err != nil && t.Replaced == 0 {
		t.Text, t.Replaced = t.Text+"\uFFFD", 1 // cut off within a character
	}
	return t
}

// sample is how much is looked at to tell UTF-16 and UTF-32 without a mark.
const sample = 8192

// wide reads UTF-16 and UTF-32 without a mark: as that form that gives most characters
// that texts are full of.
func wide(data []byte) (Text, bool) {
	best, most := form{}, 0
	for _, f := range forms {
		head := data[:min(len(data), sample)]
		if head = head[:len(head)/f.unit*f.unit]; len(head) < 4 || bytewise(head) {
			continue
		}
		if f.unit == 4 && bytes.Count(head, []byte{0})*4 < len(head) {
			continue
		}
		if len(data) < 16*f.unit && len(data)%f.unit != 0 {
			continue // a short text that was cut off, too, is less likely than bytes
		}
		if n := familiar(through(f.name, f.encoding, head).Text, f.unit); n*f.unit > most {
			best, most = f, n*f.unit
		}
	}
	if most == 0 {
		return Text{}, false
	}
	t := through(best.name, best.encoding, data)
	t.Assumed = true
	return t, true
}

// bytewise tells whether bytes are text as they stand, with few stray ones: pairs of
// digits and letters would be kana and Chinese characters of UTF-16. Where UTF-16 is
// made of such bytes, those of its blocks are control characters.
func bytewise(data []byte) bool {
	low := 0
	for _, c := range data {
		if c < ' ' {
			low++
		}
	}
	sequences, stray := census(data)
	return low*4 < len(data) && (sequences >= 2*stray || stray*20 <= len(data))
}
