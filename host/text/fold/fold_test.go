package fold

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestSpellingsOfAWordAreEqual(t *testing.T) {
	for want, spellings := range map[string][]string{
		"gottingen":     {"Göttingen", norm.NFD.String("Göttingen"), "GÖTTINGEN", "Gottingen", "Göt\u00adtin\u200bgen"},
		"학점인정":          {"학점인정", norm.NFD.String("학점인정")},
		"efficient":     {"eﬃcient", "e\ufb03cient", "ｅｆｆｉｃｉｅｎｔ", "ef\u2060fi\ufeffcient"},
		"don't":         {"don’t", "don't", "DonʼT", "don＇t", "don‘t"},
		"e-mail":        {"E‑Mail", "e‐mail", "e–mail", "E-Mail"},
		"ガイド":           {"ガイド", "ｶﾞｲﾄﾞ", norm.NFD.String("ガイド")},
		"istanbul":      {"İstanbul", "ISTANBUL", "ıstanbul", "istanbul"},
		"strasse":       {"Straße", "STRASSE", "STRAẞE"},
		"محمد":          {"مُحَمَّد", "محـــمد"},
		"احمد":          {"أحمد", "احمد"},
		"שלום":          {"שָׁלוֹם", "שלום"},
		"елка":          {"ёлка", "Елка", norm.NFD.String("ёлка")},
		"мой":           {"мой", norm.NFD.String("мой")},
		"κοσμοσ":        {"κόσμος", "ΚΌΣΜΟΣ", "κοσμος"},
		"smorrebrod":    {"smørrebrød", "Smorrebrod"},
		"encyclopaedia": {"encyclopædia"},
		"viet nam":      {"Việt Nam", norm.NFD.String("Việt\u00a0Nam")},
		"में":           {"में"},
		"ที่นี่":        {"ที่นี่", "ที่\u200bนี่"},
		"h2o":           {"H₂O"},
		"10 2":          {"10²"},
		"2026":          {"２０２６", "٢٠٢٦", "२०२६"},
		"ميخواهم":       {"می\u200cخواهم"},
	} {
		for _, s := range spellings {
			if got := String(s); got != want {
				t.Errorf("%q: %q, want %q", s, got, want)
			}
		}
	}
}

func TestLettersKeepTheirAccents(t *testing.T) {
	for s, want := range map[string]string{
		"Pe\u00adña": "peña", "Pen\u0303a": "peña", "Straße": "straße", "user’s": "user's", "ﬁ": "fi", "Pena": "pena",
	} {
		if got := Letters(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestOtherWordsStayApart(t *testing.T) {
	for _, pair := range [][2]string{{"мой", "мои"}, {"がく", "かく"}, {"कि", "की"}, {"ไม่", "ไม"}, {"10²", "102"},
		{"ба", "па"}} {
		if String(pair[0]) == String(pair[1]) {
			t.Errorf("%q and %q are one", pair[0], pair[1])
		}
	}
}

func TestPlacesPointIntoTheSource(t *testing.T) {
	for _, c := range []struct{ source, part, want string }{
		{"In Go\u0308ttingen.", "gottingen", "Go\u0308ttingen"},
		{"An e\ufb03cient pump", "efficient", "e\ufb03cient"},
		{"Woh\u00adnungs\u200bamt", "wohnungsamt", "Woh\u00adnungs\u200bamt"},
		{"die Straße dort", "strasse", "Straße"},
		{"plain Words", "words", "Words"},
	} {
		f := Of([]byte(c.source))
		at := bytes.Index(f.Folded, []byte(c.part))
		if at < 0 {
			t.Fatalf("%q: %q", c.source, f.Folded)
		}
		if from, to := f.Span(at, at+len(c.part)); c.source[from:to] != c.want {
			t.Errorf("%q: %q, want %q", c.source, c.source[from:to], c.want)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, s := range []string{"", "abc", "Go\u0308", "\u0308a", "ﬃ", "\u00ad", "10²", "한국\u1112\u1161\u11ab", "ที่",
		"\xff\xfe", "ｶﾞ"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := Of(text)
		last := 0
		for i := range got.Folded {
			from, to := got.Span(i, i+1)
			if from < last || to < from || to > len(text) {
				t.Fatalf("%q: byte %d of %q is %d to %d", text, i, got.Folded, from, to)
			}
			last = from
		}
		if utf8.Valid(text) && !utf8.Valid(got.Folded) {
			t.Fatalf("%q: %q", text, got.Folded)
		}
	})
}
