package decode

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

const (
	german    = "Die Größe der Straße ist bekannt, und sie kostet 5 € im Jahr.\r\n"
	french    = "L’été où j’étais à Besançon, l’hôtel coûtait « très » cher.\n"
	polish    = "Zażółć gęślą jaźń. Późną wiosną wędrowcy znaleźli ścieżkę nad rzeką, która płynęła przez łąki.\n"
	japanese1 = "これは日本語の文章です。東京都の区役所で手続きをする。\n"
	katakana  = "サーバーのログを確認してください\n"
	names     = "東京,大阪,名古屋,横浜,神戸\n"
	koreanT   = "이것은 한국어 문장입니다. 서울에서 신청합니다.\n"
	chinese   = "这是一个中文句子，我们在北京办理手续。\n"
	taiwan    = "這是一個中文句子，我們在臺北辦理手續。\n"
	russian   = "Привет, как дела? Переборка делит корпус корабля.\n"
	greek     = "Καλημέρα, πώς είσαι σήμερα το πρωί;\n"
	thai      = "ประเทศไทยมีหลายจังหวัด\n"
)

func encoded(t testing.TB, e encoding.Encoding, text string) []byte {
	t.Helper()
	out, err := e.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTextIsReadInTheEncodingThatItIsIn(t *testing.T) {
	for text, encodings := range map[string]map[string]encoding.Encoding{
		german:    {"windows-1252": charmap.Windows1252},
		french:    {"windows-1252": charmap.Windows1252},
		polish:    {"iso-8859-2": charmap.ISO8859_2, "windows-1250": charmap.Windows1250},
		japanese1: {"shift_jis": japanese.ShiftJIS, "euc-jp": japanese.EUCJP, "iso-2022-jp": japanese.ISO2022JP},
		katakana:  {"shift_jis": japanese.ShiftJIS, "euc-jp": japanese.EUCJP, "iso-2022-jp": japanese.ISO2022JP},
		names:     {"shift_jis": japanese.ShiftJIS, "iso-2022-jp": japanese.ISO2022JP},
		koreanT:   {"euc-kr": korean.EUCKR},
		chinese:   {"gb18030": simplifiedchinese.GB18030},
		taiwan:    {"big5": traditionalchinese.Big5},
		russian:   {"windows-1251": charmap.Windows1251, "koi8-r": charmap.KOI8R, "ibm866": charmap.CodePage866},
		greek:     {"windows-1253": charmap.Windows1253},
	} {
		for name, e := range encodings {
			for _, times := range []int{1, 40} {
				want := strings.Repeat(text, times)
				got, err := Bytes(encoded(t, e, want), "")
				if err != nil || got.Text != strings.ReplaceAll(want, "\r", "") || got.Encoding != name ||
					got.Replaced+got.Dropped > 0 {
					t.Errorf("%s, %d times: %.80q, %s, %v", name, times, got.Text, got.Encoding, err)
				}
			}
		}
	}
}

func TestUnicodeIsReadWithAndWithoutAMark(t *testing.T) {
	for _, text := range []string{german, "ab\n", japanese1, katakana, koreanT, chinese, taiwan, russian, greek, thai,
		"a 😀 b\n", "naïve ﬁ\n", "0a0b0c0d", "こんにちは\n", "नमस्ते दुनिया\n", "שלום עולם\n"} {
		for _, f := range forms {
			data := encoded(t, f.encoding, text)
			for _, mark := range []string{"", f.mark} {
				got, err := Bytes(append([]byte(mark), data...), "")
				if err != nil || got.Text != strings.ReplaceAll(text, "\r", "") || got.Encoding != f.name ||
					got.Assumed == (mark != "") {
					t.Errorf("%s after %q: %.80q, %+v, %v", f.name, mark, text, got, err)
				}
			}
		}
		for _, mark := range []string{"", "\ufeff"} {
			if got, err := Bytes([]byte(mark+text), ""); err != nil || got.Text != strings.ReplaceAll(text, "\r", "") ||
				got.Encoding != "utf-8" || got.Assumed {
				t.Errorf("utf-8 after %q: %.80q, %+v, %v", mark, text, got, err)
			}
		}
	}
}

func TestFilesThatAreNearlyTextAreRead(t *testing.T) {
	for file, want := range map[string]Text{
		"a.txt": {Text: "Der Text ist gültig und schön lang, nur hier \uFFFD ist ein Byte kaputt, für alle zu sehen.\n",
			Encoding: "utf-8", Assumed: true, Replaced: 1},
		"b.txt": {Text: "Die Größe der Straße ist bekannt, und sie kostet 5 € im Jahr, für alle.\n",
			Encoding: "windows-1252", Assumed: true},
		"a.md": {Text: "# Log\n\nFirst line second line.\n", Encoding: "utf-8", Dropped: 1},
		"a.html": {Text: "<html><head><title>Log</title></head><body><p>First line second line.</p></body></html>",
			Encoding: "utf-8", Dropped: 1},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Bytes(data, ""); err != nil || got != want {
			t.Errorf("%s: %+v, %v", file, got, err)
		}
	}
}

func TestStrayBytesAreReplacedAndCounted(t *testing.T) {
	utf16 := encoded(t, forms[2].encoding, german)
	for name, c := range map[string]struct {
		data, encoding    string
		replaced, dropped int
	}{
		"stray in ASCII":          {strings.Repeat("plain words here\n", 4) + "\xff end\n", "utf-8", 1, 0},
		"stray in Japanese UTF-8": {japanese1 + "\xfe" + japanese1, "utf-8", 1, 0},
		"cut UTF-8":               {japanese1[:len(japanese1)-2], "utf-8", 2, 0},
		"stray after a mark":      {"\ufeffplain \xff words\n", "utf-8", 1, 0},
		"stray in Shift_JIS": {strings.Repeat(string(encoded(t, japanese.ShiftJIS, japanese1)), 3) + "\xff\n",
			"shift_jis", 1, 0},
		"stray in EUC-KR": {strings.Repeat(string(encoded(t, korean.EUCKR, koreanT)), 3) + "\xff\n", "euc-kr", 1,
			0},
		"cut UTF-16":          {"\xff\xfe" + string(utf16[:len(utf16)-1]), "utf-16le", 1, 0},
		"NUL in Windows-1252": {"Gr\xf6\xdfe\x00 der Stra\xdfe\n", "windows-1252", 0, 1},
		"NUL in UTF-16":       {"\xff\xfe" + string(utf16) + "\x00\x00", "utf-16le", 0, 1},
		"block of NUL":        {"a line\n" + strings.Repeat("\x00", 4096) + "another line\n", "utf-8", 0, 4096},
		"end of a DOS file":   {"a line\r\n\x1a", "utf-8", 0, 1},
	} {
		got, err := Bytes([]byte(c.data), "")
		if err != nil || got.Encoding != c.encoding || got.Replaced != c.replaced || got.Dropped != c.dropped {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestADeclaredEncodingCounts(t *testing.T) {
	for _, c := range []struct{ data, contentType, encoding, has string }{
		{"caf\xe9", "text/plain; charset=iso-8859-1", "windows-1252", "café"},
		{`<meta charset="shift_jis"><p>` + string(encoded(t, japanese.ShiftJIS, "表")), "", "shift_jis", "表"},
		{`<meta http-equiv=x content="text/html; charset=koi8-r">` + string(encoded(t, charmap.KOI8R, "ЯМА")), "",
			"koi8-r", "ЯМА"},
		{`<?xml version="1.0" encoding="ISO-8859-2"?><a>` + "\xb1\xe6</a>", "application/xml", "iso-8859-2", "ąć"},
		{"für", "text/plain; charset=iso-8859-1", "utf-8", "für"},
		{"f\xfcr alle", "text/plain; charset=utf-8", "windows-1252", "für"},
		{"f\xfcr alle", "text/plain; charset=nonsense", "windows-1252", "für"},
	} {
		got, err := Bytes([]byte(c.data), c.contentType)
		if err != nil || got.Encoding != c.encoding || !strings.Contains(got.Text, c.has) {
			t.Errorf("%q: %+v, %v", c.data, got, err)
		}
	}
}

func TestWhatIsNotTextIsRefused(t *testing.T) {
	noise := make([]byte, 5000)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise) // never fails
	numbers := make([]byte, 0, 4000)
	for i := range 1000 {
		numbers = append(numbers, byte(i), byte(i>>8), 0, 0)
	}
	for name, data := range map[string]string{
		"noise": string(noise), "numbers": string(numbers), "picture": "\x89PNG\r\n\x1a\n\x00",
		"pdf": "%PDF-1.7\n%âãÏÓ",
		"zip": "PK\x03\x04\x14\x00", "zeros": strings.Repeat("\x00", 100), "bits": "\x01\x02\xff\xfe\x80",
		"noise 16":    "\xff\xfe" + string(noise),
		"short noise": string(noise[:64]),
	} {
		if got, err := Bytes([]byte(data), ""); !errors.Is(err, ErrBinary) && !errors.Is(err, ErrEncoding) {
			t.Errorf("%s: %.80q %s %+v", name, got.Text, got.Encoding, err)
		}
	}
}

func TestANoteSaysWhatReadingTook(t *testing.T) {
	for data, want := range map[string]string{
		"":                                  "It is empty.",
		" \r\n":                             "It is empty.",
		"plain":                             "",
		"f\xfcr":                            "Its encoding was not declared and is taken to be windows-1252.",
		"f\x00\x00or all of them, and more": "2 control characters, such as NUL, were left out.",
		"f\x00or \u00fcber \xff all": "Its encoding was not declared and is taken to be utf-8. " +
			"1 byte could not be read; \uFFFD stands there. 1 control character, such as NUL, was left out.",
	} {
		got, err := Bytes([]byte(data), "")
		if err != nil || got.Note() != want {
			t.Errorf("%q: %q, %v", data, got.Note(), err)
		}
	}
}

func FuzzBytes(f *testing.F) {
	for _, s := range []string{"", "plain", "\xff\xfea\x00", "\xfe\xff\x00a", "a\x00b\x00", "\x00a\x00b", "Gr\xf6\xdfe",
		"\xff\xfe\x00\x00a\x00\x00\x00",
		"\x84\x31\x95\x33", "\x1b$B$3\x1b(B", "<meta charset=big5>\xa4\x40", german, japanese1} {
		f.Add([]byte(s), "text/plain; charset=euc-kr")
		f.Add([]byte(s), "")
	}
	f.Fuzz(func(t *testing.T, data []byte, contentType string) {
		got, err := Bytes(data, contentType)
		switch {
		case err != nil:
			if !errors.Is(err, ErrBinary) && !errors.Is(err, ErrEncoding) {
				t.Fatal(err)
			}
		case !utf8.ValidString(got.Text) || strings.IndexFunc(got.Text, control) >= 0 ||
			strings.ContainsRune(got.Text, '\r') || got.Encoding == "" || len(got.Text) > 4*len(data)+3:
			t.Fatalf("%q: %+v", data, got)
		}
	})
}
