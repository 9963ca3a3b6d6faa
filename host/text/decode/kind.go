package decode

import (
	"bytes"
	"strings"
)

// magic are the beginnings of kinds of files that people attach, with what to
// call them.
var magic = []struct{ begins, what string }{
	{"%PDF-", "a PDF"},
	{"\x89PNG\r\n", "an image"}, {"\xff\xd8\xff", "an image"}, {"GIF87a", "an image"}, {"GIF89a", "an image"},
	{"PK\x03\x04", "a ZIP archive or an office document"}, {"\xd0\xcf\x11\xe0", "an old office document"},
	{"\x1f\x8b", "a compressed file"}, {"BZh", "a compressed file"}, {"\xfd7zXZ\x00", "a compressed file"},
	{"7z\xbc\xaf\x27\x1c", "an archive"}, {"Rar!\x1a", "an archive"}, {"\x28\xb5\x2f\xfd", "a compressed file"},
	{"RIFF", "a picture, a sound or a film"}, {"\x7fELF", "a program"}, {"MZ", "a program"},
	{"\x00asm", "a WebAssembly module"},
	{"SQLite format 3\x00", "a database"}, {"ID3", "a sound"}, {"OggS", "a sound or a film"},
	{"{\\rtf", "a rich text document"},
}

// Kind tells in words what data is if it is a known kind of file that is not
// text, such as "a PDF"; "" else. A beginning made of letters counts only where more speaks for it.
func Kind(data []byte) string {
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
