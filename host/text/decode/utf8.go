package decode

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// strictUTF8 reads what is UTF-8 throughout.
func strictUTF8(data []byte, _ string) (Text, bool) {
	return Text{Text: strings.TrimPrefix(string(data), "\ufeff"), Encoding: "utf-8"}, utf8.Valid(data)
}

// nearlyUTF8 reads UTF-8 with some stray bytes. Letters of other encodings form its
// sequences only now and then, so a few of them outweigh a byte that fits nowhere.
func nearlyUTF8(data []byte, _ string) (Text, bool) {
	sequences, stray := census(data)
	marked := bytes.HasPrefix(data, []byte("\ufeff"))
	return replaced(data, stray), marked && stray*10 < len(data) || sequences >= 2*stray
}

// lossyUTF8 reads what is ASCII but for a few bytes that nothing explains.
func lossyUTF8(data []byte, _ string) (Text, bool) {
	sequences, stray := census(data)
	return replaced(data, stray), stray*20 <= len(data) && (stray+sequences)*20 <= len(data)
}

// census counts the bytes of sequences of two to four bytes, and stray bytes.
func census(data []byte) (sequences, stray int) {
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			stray++
		} else {
			sequences += n
		}
		i += n
	}
	return sequences, stray
}

func replaced(data []byte, stray int) Text {
	var b strings.Builder
	for _, r := range string(data) {
		b.WriteRune(r) // U+FFFD for each stray byte
	}
	return Text{Text: strings.TrimPrefix(b.String(), "\ufeff"), Encoding: "utf-8", Assumed: true, Replaced: stray}
}
