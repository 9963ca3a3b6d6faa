package decode

import (
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// pairs is what a text looks like in an encoding of two bytes for a character.
type pairs struct {
	all     int // characters beyond ASCII
	common  int // those that most text of the encoding is made of
	telling int // those that tell it from its neighbours
	bad     int
}

// layout is one such encoding: whether lead and trail are a character, a common one,
// and one that the layouts listed later do not have so often.
type layout struct {
	name     string
	encoding encoding.Encoding
	valid    func(lead, trail byte) bool
	common   func(lead, trail byte) bool
	telling  func(lead, trail byte) bool
	// least is the share of telling characters that it takes, in hundredths.
	least int
}

func between(c, from, to byte) bool { return from <= c && c <= to }

func euc(lead, trail byte) bool {
	return lead >= 0xa1 && trail >= 0xa1 && lead != 0xff && trail != 0xff
}

// layouts are told apart by where their common characters stand: kana in Japanese,
// syllables in Korean, the first level of characters in Chinese.
var layouts = []layout{
	{"shift_jis", japanese.ShiftJIS,
		func(l, t byte) bool {
			return (between(l, 0x81, 0x9f) || between(l, 0xe0, 0xfc)) && between(t, 0x40, 0xfc) && t != 0x7f
		},
		func(l, t byte) bool { return between(l, 0x81, 0x83) || between(l, 0x88, 0x97) },
		func(l, t byte) bool { return between(l, 0x81, 0x97) }, 70},
	{"euc-jp", japanese.EUCJP, euc,
		func(l, t byte) bool { return l == 0xa1 || l == 0xa4 || l == 0xa5 || between(l, 0xb0, 0xcf) },
		func(l, t byte) bool { return l == 0xa4 || l == 0xa5 }, 15},
	{"euc-kr", korean.EUCKR,
		func(l, t byte) bool { return between(l, 0x81, 0xfe) && between(t, 0x41, 0xfe) },
		func(l, t byte) bool { return between(l, 0xa1, 0xa3) || between(l, 0xb0, 0xc8) && t >= 0xa1 },
		func(l, t byte) bool { return between(l, 0xb0, 0xc8) && t >= 0xa1 }, 80},
	{"big5", traditionalchinese.Big5,
		func(l, t byte) bool {
			return between(l, 0xa1, 0xf9) && (between(t, 0x40, 0x7e) || between(t, 0xa1, 0xfe))
		},
		func(l, t byte) bool { return between(l, 0xa1, 0xc6) },
		func(l, t byte) bool { return t <= 0x7e }, 15},
	{"gb18030", simplifiedchinese.GB18030,
		func(l, t byte) bool { return between(l, 0x81, 0xfe) && between(t, 0x40, 0xfe) && t != 0x7f },
		func(l, t byte) bool { return (between(l, 0xa1, 0xa3) || between(l, 0xb0, 0xd7)) && t >= 0xa1 },
		func(l, t byte) bool { return euc(l, t) }, 50},
}

// multibyte reads the encodings of East Asia that nobody declared.
func multibyte(data []byte, _ string) (Text, bool) {
	for _, l := range layouts {
		p := l.look(data)
		if p.all < 2 || p.bad*20 > p.all || p.common*10 < p.all*6 || p.telling*100 < p.all*l.least {
			continue
		}
		t := through(l.name, l.encoding, data)
		if t.Assumed = true; t.Replaced*20 <= p.all {
			return t, true
		}
	}
	return Text{}, false
}

func (l layout) look(data []byte) (p pairs) {
	for i := 0; i < len(data); {
		c := data[i]
		if i++; c < 0x80 {
			continue
		}
		switch {
		case l.name == "shift_jis" && between(c, 0xa1, 0xdf):
			p.all++ // narrow katakana
		case l.name == "euc-jp" && (c == 0x8e || c == 0x8f):
			p.all++
			i += int(c - 0x8d)
		case l.name == "gb18030" && i+2 < len(data) &&
			between(data[i], '0', '9') && data[i+1] >= 0x81 && between(data[i+2], '0', '9'):
			p.all++
			p.telling++
			i += 3
		case i < len(data) && l.valid(c, data[i]):
			p.all++
			if l.common(c, data[i]) {
				p.common++
			}
			if l.telling(c, data[i]) {
				p.telling++
			}
			i++
		default:
			p.bad++
		}
	}
	return p
}
