package textfile

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

func encoded(t *testing.T, e interface {
	String(string) (string, error)
}, text string) string {
	t.Helper()
	out, err := e.String(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTextIsReadInItsEncoding(t *testing.T) {
	const german = "Straße und Größe\r\nkosten 5 €\r\n"
	const want = "Straße und Größe\nkosten 5 €\n"
	for name, c := range map[string]struct{ data, text, encoding string }{
		"utf-8":             {german, want, "utf-8"},
		"utf-8 with a mark": {"\ufeff" + german, want, "utf-8"},
		"utf-16 little": {encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder(), german),
			want, "utf-16le"},
		"utf-16 big": {encoded(t, unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder(), german), want,
			"utf-16be"},
		"utf-16 bare": {encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder(), german),
			want, "utf-16le"},
		"windows-1252":     {encoded(t, charmap.Windows1252.NewEncoder(), german), want, "windows-1252"},
		"empty":            {"", "", "utf-8"},
		"only a mark":      {"\ufeff", "", "utf-8"},
		"old Mac":          {"a\rb", "a\nb", "utf-8"},
		"terminal colours": {"\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n", "utf-8"},
		"MZ as words":      {"MZ is not a program here", "MZ is not a program here", "utf-8"},
		"Shift_JIS":        {encoded(t, japanese.ShiftJIS.NewEncoder(), "これは日本語の文章です。"), "これは日本語の文章です。", "shift_jis"},
		"KOI8-R": {encoded(t, charmap.KOI8R.NewEncoder(), "Привет, как дела?"), "Привет, как дела?",
			"koi8-r"},
		"one stray byte": {"schön und gültig, \xff bis hier", "schön und gültig, \uFFFD bis hier", "utf-8"},
		"one NUL":        {"# Log\n\nFirst line\x00 second line.\n", "# Log\n\nFirst line second line.\n", "utf-8"},
	} {
		got, err := Read("a.txt", "", []byte(c.data))
		if err != nil || got.Text != c.text || got.Encoding != c.encoding {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestWhatIsNotTextIsRefusedInWords(t *testing.T) {
	for name, c := range map[string]struct {
		data, says string
		kind       error
	}{
		"report.pdf":  {"%PDF-1.7\n…", "is a PDF", ErrNotText},
		"photo.png":   {"\x89PNG\r\n\x1a\n\x00", "is an image", ErrNotText},
		"letter.docx": {"PK\x03\x04\x14\x00", "office document", ErrNotText},
		"prog.exe":    {"MZ\x90\x00\x03\x00", "is a program", ErrNotText},
		"data.bin":    {"abc\x00\x01\x02def\xff", "no text has", ErrNotText},
		"noise.bin":   {"\x01\x02\xff\xfe\x80", "no text has", ErrNotText},
		"odd.txt":     {"\x81\x8d\x8f\x90\x9d\xa0\xfd\xfe", "UTF-8", ErrEncoding},
		"long.txt": {encoded(t, charmap.Windows1251.NewEncoder(), strings.Repeat("Корабль идёт. ", 60_000)),
			"as UTF-8", ErrTooLarge},
		"big.txt": {strings.Repeat("a", MaxBytes+1), "1.0 MiB; at most 1 MiB", ErrTooLarge},
	} {
		_, err := Read(name, "", []byte(c.data))
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, c.kind) || !strings.HasPrefix(e.Message, name) ||
			!strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read("full.txt", "", []byte(strings.Repeat("a", MaxBytes))); err != nil {
		t.Error(err)
	}
}

func TestWhatReadingTookIsSaid(t *testing.T) {
	for data, want := range map[string]string{
		"plain": "", "": "It is empty.", "Gr\xf6\xdfe": "windows-1252", "für alle\xff": "1 byte",
		"plain text\x00": "1 control character",
	} {
		got, err := Read("a.txt", "", []byte(data))
		if err != nil || !strings.Contains(got.Note, want) || want == "" && got.Note != "" {
			t.Errorf("%q: %q, %v", data, got.Note, err)
		}
	}
}

func TestNamesAreMadeSafe(t *testing.T) {
	for in, want := range map[string]string{
		`D:\work\a.csv`: "a.csv", "../../etc/passwd": "passwd", "": "file", "a\x00b\n.txt": "ab.txt",
		"gpj\u202etxt.exe": "gpjtxt.exe", "\xff.txt": "\uFFFD.txt", "/": "file", " b.md ": "b.md",
	} {
		if got := CleanName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := CleanName(strings.Repeat("ä", 500) + ".csv"); utf8.RuneCountInString(got) != maxNameRunes ||
		!strings.HasSuffix(got, "….csv") {
		t.Errorf("%q", got)
	}
}

func TestTheKindFollowsTheName(t *testing.T) {
	for _, c := range [][3]string{
		{"a.CSV", "application/vnd.ms-excel", "text/csv"}, {"main.go", "", "text/x-go"},
		{"x.ts", "video/mp2t", "text/x-typescript"},
		{"Makefile", "", "text/plain"}, {"a.org", "text/org; charset=utf-8", "text/org"},
		{"a", "image/png", "text/plain"},
	} {
		if got := mediaTypeOf(c[0], c[1]); got != c[2] {
			t.Errorf("%s: %s, want %s", c[0], got, c[2])
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "plain", "\xff\xfea\x00", "\xfe\xff\x00a", "a\x00b\x00", "\x00a\x00b",
		"Gr\xf6\xdfe", "%PDF-", "\xef\xbb\xbf"} {
		f.Add("a.txt", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		got, err := Read(name, "", data)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Message == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		if !utf8.ValidString(got.Text) || strings.ContainsAny(got.Text, "\r\x00") || got.Name == "" ||
			got.MediaType == "" || got.Encoding == "" {
			t.Fatalf("%+v", got)
		}
	})
}
