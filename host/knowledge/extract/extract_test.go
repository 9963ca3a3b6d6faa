package extract

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func TestTitleComesFromTheBestSource(t *testing.T) {
	cases := []struct{ name, file, data, want string }{
		{"front matter", "a.md", "---\ntitle: \"The *real* title\"\ntags: [a]\n---\n# Heading\n", "The *real* title"},
		{"first level-1 heading", "a.md", "## Small\n\n# The **big** `one`\n", "The big one"},
		{"setext heading", "a.md", "Big\n===\ntext\n", "Big"},
		{"heading in code is none", "notes.md", "```\n# not me\n```\n", "notes"},
		{"file name", `C:\docs\my notes.md`, "just text", "my notes"},
		{"dot file", "/x/.md", "just text", ".md"},
		{"html title", "a.html", "<title> A &amp; B </title><h1>C</h1>", "A & B"},
		{"html heading", "a.html", "<body><header><h1>C <em>d</em></h1></header><p>x", "C d"},
		{"svg title is not the page's", "a.html", "<body><svg><title>icon</title></svg><h1>Page</h1>", "Page"},
		{"plain text", "log.txt", "# not a heading", "log"},
		{"front matter that is none", "a.md", "---\nnot: [valid\n---\n# H\n", "H"},
		{"no name", "", "text", "Untitled"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			media := ""
			if c.file == "" {
				media = "text/plain"
			}
			out, err := Extract(Input{Name: c.file, MediaType: media, Data: []byte(c.data)})
			if err != nil || out.Title != c.want {
				t.Fatalf("title %q, error %v; want %q", out.Title, err, c.want)
			}
		})
	}
}

func TestLongTitleIsCut(t *testing.T) {
	out, err := Extract(Input{Name: "a.md", Data: []byte("# " + strings.Repeat("é", 5000))})
	if err != nil || utf8.RuneCountInString(out.Title) != maxTitle || !strings.HasSuffix(out.Title, "…") {
		t.Fatalf("%d code points, error %v", utf8.RuneCountInString(out.Title), err)
	}
}

func TestTypeIsDecidedByMediaTypeThenName(t *testing.T) {
	cases := []struct{ name, media, want string }{
		{"a.md", "", typeMarkdown}, {"A.MARKDOWN", "application/octet-stream", typeMarkdown},
		{"a.md", "text/plain; charset=utf-8", typeMarkdown}, {"a", "text/plain", typePlain},
		{"a.md", "text/html", typeHTML}, {"a.xhtml", "", typeHTML}, {"a.txt", "", typePlain},
		{"a.pdf", "", ""}, {"a.md", "application/pdf", ""}, {"README", "", ""}, {"a.png", "image/png", ""},
	}
	for _, c := range cases {
		got, ok := MediaType(c.name, c.media)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("MediaType(%q, %q) = %q, %v; want %q", c.name, c.media, got, ok, c.want)
		}
	}
	if _, err := Extract(Input{Name: "a.pdf", Data: []byte("%PDF")}); !errors.Is(err, ErrUnsupportedType) {
		t.Errorf("pdf: %v", err)
	}
}

func utf16Bytes(s string, little bool) []byte {
	out := []byte{0xFE, 0xFF}
	if little {
		out = []byte{0xFF, 0xFE}
	}
	for _, u := range utf16.Encode([]rune(s)) {
		if little {
			out = append(out, byte(u), byte(u>>8))
		} else {
			out = append(out, byte(u>>8), byte(u))
		}
	}
	return out
}

func TestEncodings(t *testing.T) {
	want := "Grüße, 世界 🚀\nzweite"
	crlf := strings.ReplaceAll(want, "\n", "\r\n")
	for name, data := range map[string][]byte{
		"UTF-8": []byte(want), "UTF-8 with mark": append([]byte{0xEF, 0xBB, 0xBF}, want...), "CRLF": []byte(crlf),
		"CR": []byte(strings.ReplaceAll(want, "\n", "\r")), "UTF-16 LE": utf16Bytes(crlf, true),
		"UTF-16 BE": utf16Bytes(want, false),
	} {
		out, err := Extract(Input{Name: "a.txt", Data: data})
		if err != nil || out.Text != want {
			t.Errorf("%s: %q, %v", name, out.Text, err)
		}
	}
	for name, c := range map[string]struct{ data, text, note string }{
		"Latin-1":             {"Gr\xfc\xdfe", "Grüße", "windows-1252"},
		"zero byte":           {"a\x00b", "ab", "left out"},
		"UTF-16 without mark": {string(utf16Bytes("text", true)[2:]), "text", "utf-16le"},
		"odd UTF-16":          {string(utf16Bytes("letters", true)) + "a", "letters\uFFFD", "1 byte"},
		"lone surrogate":      {string(utf16Bytes("letters", true)) + "\x00\xd8a\x00", "letters\uFFFDa", "1 byte"},
		"stray byte":          {"schön \xff schön", "schön \uFFFD schön", "1 byte"},
		"empty":               {"", "", "empty"},
	} {
		out, err := Extract(Input{Name: "a.md", Data: []byte(c.data)})
		if err != nil || out.Text != c.text || !strings.Contains(out.Note, c.note) {
			t.Errorf("%s: %q, %q, %v", name, out.Text, out.Note, err)
		}
	}
	for name, data := range map[string]string{
		"bits": "\x01\x02\xff\xfe\x80", "a PDF": "%PDF-1.7\n", "a picture": "\x89PNG\r\n\x1a\n\x00",
		"no encoding": "\x81\x8d\x8f\x90\x9d\xa0\xfd\xfe",
	} {
		if _, err := Extract(Input{Name: "a.md", Data: []byte(data)}); !errors.Is(err, ErrBadEncoding) {
			t.Errorf("%s: %v, want ErrBadEncoding", name, err)
		}
	}
}

func TestHTMLInDeclaredCharset(t *testing.T) {
	page := []byte("<html><head><meta charset=\"iso-8859-1\"><title>Gr\xfc\xdfe</title></head><body><p>caf\xe9")
	out, err := Extract(Input{Name: "a.html", Data: page})
	if err != nil || out.Title != "Grüße" || strings.TrimSpace(out.Text) != "café" {
		t.Fatalf("%q %q %v", out.Title, out.Text, err)
	}
	out, err = Extract(Input{Name: "a.html", Data: []byte("<p>caf\xe9")})
	if err != nil || strings.TrimSpace(out.Text) != "café" || out.Note == "" {
		t.Fatalf("undeclared: %q %q %v", out.Text, out.Note, err)
	}
	out, err = Extract(Input{Name: "a.html", MediaType: "text/html; charset=shift_jis",
		Data: []byte("<p>\x93\xfa\x96{")})
	if err != nil || strings.TrimSpace(out.Text) != "日本" {
		t.Fatalf("Shift JIS: %q %v", out.Text, err)
	}
}

func TestTooLargeIsRefused(t *testing.T) {
	if _, err := Extract(Input{Name: "a.txt", Data: make([]byte, MaxBytes+1)}); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("got %v", err)
	}
	if _, err := Extract(Input{Name: "a.txt", Data: []byte(strings.Repeat("a", MaxBytes))}); err != nil {
		t.Fatalf("exactly the limit: %v", err)
	}
}

// shape renders blocks for comparison: kind, path, text.
func shape(text string, blocks []Block) string {
	var b strings.Builder
	for _, bl := range blocks {
		fmt.Fprintf(&b, "%s %s %q\n", [...]string{"para", "head", "item", "code", "table"}[bl.Kind],
			strings.Join(bl.Path, "/"), text[bl.Start:bl.End])
	}
	return b.String()
}

func TestMarkdownBlocks(t *testing.T) {
	text := "intro\n\n# A *x*\n\npara one\nstill\n\n- item 1\n- item 2\n\n  ```go\n  # code\n  ```\n\n## B\n" +
		"```\nx\n\n# y\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n> more\n\n    indented\n\nSetext\n---\n1. " +
		"one\n2. two\n\n[ref]: http://x\n# C #\nend"
	want := `para  "intro\n\n"
head A x "# A *x*\n\n"
para A x "para one\nstill\n\n"
item A x "- item 1\n"
item A x "- item 2\n\n"
code A x "  ` + "```go\\n  # code\\n  ```" + `\n\n"
head A x/B "## B\n"
code A x/B "` + "```\\nx\\n\\n# y\\n```" + `\n"
table A x/B "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
para A x/B "> quote\n> more\n\n"
code A x/B "    indented\n\n"
head A x/Setext "Setext\n---\n"
item A x/Setext "1. one\n"
item A x/Setext "2. two\n\n"
`
	got := shape(text, Blocks(text, Markdown))
	rest, ok := strings.CutPrefix(got, want)
	if !ok {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	if !strings.HasSuffix(rest, "head C \"# C #\\n\"\npara C \"end\"\n") {
		t.Fatalf("rest\n%s", rest)
	}
}

func TestPlainBlocksEndAtBlankLines(t *testing.T) {
	text := "\n\none\ntwo\n  \n\nthree"
	if got, want := shape(text, Blocks(text, Plain)),
		"para  \"\\n\\none\\ntwo\\n  \\n\\n\"\npara  \"three\"\n"; got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

func TestHTMLBecomesMarkdown(t *testing.T) {
	page := `<!doctype html><html><head><title>T</title><style>p{}</style><script>alert(1)</script></head><body>
<nav><a href="/">Home</a></nav><header>Banner</header>
<h1>Top</h1><p>A <b>bold</b> and <a href="https://e.org/x">a link</a>, <a href="javascript:x()">bad</a>,
 <a href="#s">here</a>.<br># not a heading<!-- gone --></p>
<ul><li>one<ul><li>deep</li></ul></li><li><p>two</p><pre><code>x = "` + "```" + `"
  y</code></pre></li></ul><ol><li>first<li>second</ol>
<table><tr><th>K</th><th>V|W</th></tr><tr><td>a</td><td><code>b</code></td></tr></table>
<blockquote><p>said</p><p>again</p></blockquote><div>loose <span>text</span></div><img src="http://evil/x.png" alt="a chart">
<noscript>no</noscript><button>Press</button><footer>Imprint</footer></body></html>`
	want := "# Top\n\nA bold and [a link](https://e.org/x), bad, here.\n\\# not a heading\n\n- one\n\n  - deep\n- " +
		"two\n\n  ````\n  x = \"```\"\n    y\n  ````\n\n" +
		"1. first\n2. second\n\n| K | V\\|W |\n| --- | --- |\n| a | `b` |\n\n> said\n>\n> again\n\nloose text\n\na " +
		"chart\n"
	out, err := Extract(Input{Name: "a.html", Data: []byte(page)})
	if err != nil || out.Text != want || out.Title != "T" {
		t.Fatalf("title %q, error %v, text\n%s\nwant\n%s", out.Title, err, out.Text, want)
	}
	for _, b := range Blocks(out.Text, Markdown) {
		if b.Kind == Heading && b.Level != 1 {
			t.Errorf("unexpected heading %q", out.Text[b.Start:b.End])
		}
	}
}

func TestMainElementIsPreferred(t *testing.T) {
	out, err := Extract(Input{Name: "a.html", Data: []byte(`<body><div>menu</div><main><p>the article</p></main><div>ads</div>`)})
	if err != nil || out.Text != "the article\n" {
		t.Fatalf("%q %v", out.Text, err)
	}
}

func TestNestedTagBombIsRefused(t *testing.T) {
	for _, tag := range []string{"<div>", "<ul><li>", "<blockquote>", "<b><table><tr><td>"} {
		data := []byte(strings.Repeat(tag, 100_000) + "x")
		if _, err := Extract(Input{Name: "a.html", Data: data}); err != nil && !errors.Is(err, ErrTooDeep) {
			t.Errorf("%s: %v", tag, err)
		}
	}
	if _, err := Extract(Input{Name: "a.html", Data: []byte(strings.Repeat("<div>", 100_000))}); !errors.Is(err,
		ErrTooDeep) {
		t.Errorf("got %v, want ErrTooDeep", err)
	}
	deep := strings.Repeat("<ul><li>", 200) + strings.Repeat("<p>x</p>", 1000)
	out, err := Extract(Input{Name: "a.html", Data: []byte(deep)})
	if err != nil || len(out.Text) > 100*len(deep) {
		t.Errorf("deep lists: %d bytes from %d, %v", len(out.Text), len(deep), err)
	}
}

func TestMarkdownBombsKeepTheirText(t *testing.T) {
	for name, text := range map[string]string{
		"quotes":     strings.Repeat(">", 100_000) + "x\n",
		"quoteLines": strings.Repeat(strings.Repeat("> ", 500)+"x\n", 200),
		"bullets":    strings.Repeat("- ", 50_000) + "x\n",
		"numbers":    strings.Repeat("1. ", 50_000) + "x\n",
		"brackets":   strings.Repeat("[", 200_000) + "\n",
		"stairs":     stairs(400),
		"references": strings.Repeat("[a]: b\n", 20_000),
		"pipes":      strings.Repeat("|", 20_000) + "\n" + strings.Repeat("|-", 20_000) + "\n",
	} {
		covers(t, name, text, Markdown)
	}
}

// stairs opens one list level more per line.
func stairs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("  ", i) + "- x\n")
	}
	return b.String()
}

func covers(t *testing.T, name, text string, f Format) {
	t.Helper()
	at := 0
	for i, b := range Blocks(text, f) {
		if b.Start != at || b.End <= b.Start {
			t.Fatalf("%s: block %d is [%d,%d), want it to start at %d", name, i, b.Start, b.End, at)
		}
		at = b.End
	}
	if at != len(text) {
		t.Fatalf("%s: blocks end at %d of %d", name, at, len(text))
	}
}

func TestPlainLine(t *testing.T) {
	for md, want := range map[string]string{
		"# A **b** _c_ `d*e` [f](http://g) ![h](i.png)": "A b c d*e f h",
		"- one\n- two\n> three\n1. four":                "one two three four",
		"```go\nx := 1\n```":                            "x := 1",
		"| a | b |\n|---|:-:|\n| 1 | 2 |":               "a b 1 2",
		"snake_case_name and 2*3*4":                     "snake_case_name and 2*3*4",
		"&lt;b&gt; <b>x</b> \\# \\[y\\]":                "<b> x # [y]",
		"[![build](b.svg)](https://ci) <https://x.org>": "build https://x.org",
		"Title\n=====\ntext":                            "Title text",
	} {
		if got := PlainLine(md); got != want {
			t.Errorf("PlainLine(%q) = %q, want %q", md, got, want)
		}
	}
}

func fuzz(f *testing.F, name string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := Extract(Input{Name: name, Data: data})
		if err != nil {
			if !errors.Is(err, ErrBadEncoding) && !errors.Is(err, ErrTooDeep) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if !utf8.ValidString(out.Text) || !utf8.ValidString(out.Title) || out.Title == "" {
			t.Fatalf("title %q or text %q is not right", out.Title, out.Text)
		}
		covers(t, name, out.Text, out.Format)
		PlainLine(out.Text)
	})
}

func FuzzMarkdown(f *testing.F) {
	fuzz(f, "a.md", "---\ntitle: x\n---\n# A\n- b\n  - c\n\n```\nd\n```\n", "> - > 1. x\n\ty\n",
		"a\n===\n|b|c|\n|-|-|\n", "- ```\n  x", "\t- a\n \tb", "*\n\n+\n0)\n", "[a]: b\n'c'\nd\n---",
		"<!--\n\n-->\n<pre>\n")
}

func FuzzHTML(f *testing.F) {
	fuzz(f, "a.html", "<title>x</title><p>a<b>c</p><ul><li>d<pre>\ne</pre>", "<table><tr><td>a<td>b|<tr><th>",
		"<svg><title>a</title><math>", "<meta charset=utf-7>\xff", "<ol><li><ol><li><blockquote>x<br>1. y",
		"<a href=' x'>y</a><a href=z>[]</a>", "<frameset><noframes>x", "<plaintext>a")
}

func FuzzPlain(f *testing.F) {
	fuzz(f, "a.txt", "a\n\nb\r\nc\r", "\xef\xbb\xbfx", "\xff\xfea\x00", "\xfe\xff\xd8\x00\xdc\x00", "\x00",
		"\u2028\n\u00a0\n")
}
