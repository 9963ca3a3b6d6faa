package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// site answers http_fetch_all from blocks by address.
func site(t *testing.T, blocks map[string]string) *[]string {
	t.Helper()
	var asked []string
	t.Cleanup(pdk.SetHost(pdk.HostFunc(func(function string, in []byte) []byte {
		var args struct {
			Requests []struct {
				URL      string
				MaxBytes int64 `json:"max_bytes"`
			}
		}
		if err := json.Unmarshal(in, &args); err != nil || function != "http_fetch_all" {
			t.Errorf("asked %s %s", function, in)
		}
		var results []string
		for _, r := range args.Requests {
			asked = append(asked, r.URL)
			b, ok := blocks[r.URL]
			if !ok {
				b = `{"error":{"kind":"failed","message":"The name is not known."}}`
			}
			if r.MaxBytes != maxBytes {
				t.Errorf("%s is read to %d bytes", r.URL, r.MaxBytes)
			}
			results = append(results, b)
		}
		return []byte(`{"ok":{"results":[` + strings.Join(results, ",") + `]}}`)
	})))
	return &asked
}

// served is the block of a response.
func served(t *testing.T, status int, contentType string, body []byte, more ...string) string {
	t.Helper()
	v := map[string]any{"status": status, "headers": map[string]string{"content-type": contentType},
		"body_base64": base64.StdEncoding.EncodeToString(body)}
	for i := 0; i+1 < len(more); i += 2 {
		v[more[i]] = more[i+1]
		if more[i+1] == "true" {
			v[more[i]] = true
		}
	}
	data, err := json.Marshal(map[string]any{"ok": v})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

type output struct {
	Content []struct{ Text string }
	IsError bool
	Meta    struct {
		Documents []pdk.Document `json:"bulkhead/documents"`
	} `json:"_meta"`
}

const refs = `{"bulkhead/refs":{"start":101,"count":100}}`

func run(t *testing.T, arguments, meta string) (output, answer) {
	t.Helper()
	data, err := pdk.CallTool(fmt.Appendf(nil, `{"request":{"name":"open_url","arguments":%s},"context":{"id":"c","_meta":%s}}`, arguments, meta))
	if err != nil {
		t.Fatal(err)
	}
	var out output
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	var a answer
	if !out.IsError {
		if err := json.Unmarshal([]byte(out.Content[0].Text), &a); err != nil {
			t.Fatalf("text %s: %v", out.Content[0].Text, err)
		}
	}
	return out, a
}

var lighthouse = []byte(`<html><head><title>Lighthouse</title><meta name="date" content="2025-03-04"></head><body><main><h1>Lighthouse</h1><p>The lamp of the lighthouse burns forty litres of oil in a night.</p></main></body></html>`)

func TestPagesComeWithRefsToCite(t *testing.T) {
	site(t, map[string]string{
		"https://a.example/x": served(t, 200, "text/html", lighthouse, "final_url", "https://www.a.example/x"),
		"https://b.example/":  served(t, 404, "text/html", []byte("gone")),
		"https://c.example/": served(t, 200, "text/plain",
			[]byte("Plain words stand here, and they are long enough to be a snippet.")),
	})
	out, a := run(t, `{"urls":["https://a.example/x","https://b.example/","https://c.example/"]}`, refs)
	if len(a.Results) != 2 || a.Results[0].Ref != 101 || a.Results[1].Ref != 102 {
		t.Fatalf("results are %+v", a.Results)
	}
	if r := a.Results[0]; r.Title != "Lighthouse" || r.Source != "web" || r.URL != "https://www.a.example/x" ||
		r.UpdatedAt != "2025-03-04T00:00:00Z" || !strings.Contains(r.Content, "forty litres") {
		t.Errorf("result is %+v", r)
	}
	if a.Results[1].Title != "c.example" {
		t.Errorf("a page without a title is called %q", a.Results[1].Title)
	}
	if len(a.Failed) != 1 || a.Failed[0].URL != "https://b.example/" ||
		!strings.Contains(a.Failed[0].Reason, "no such page (status 404)") {
		t.Errorf("failed are %+v", a.Failed)
	}
	d := out.Meta.Documents
	if len(d) != 2 || d[0].ID != "https://www.a.example/x" || d[0].URL != d[0].ID || d[0].Ref != 101 ||
		d[0].Source != "web" || !strings.HasPrefix(d[0].Snippet, "The lamp") {
		t.Errorf("documents are %+v", d)
	}
}

func TestAKnownAddressKeepsItsRef(t *testing.T) {
	site(t, map[string]string{"https://a.example/x": served(t, 200, "text/html", lighthouse, "final_url",
		"https://www.a.example/x")})
	for _, known := range []string{"https://a.example/x", "https://www.a.example/x"} {
		_, a := run(t, `{"urls":["https://a.example/x"]}`,
			`{"bulkhead/refs":{"start":101,"count":100},"bulkhead/citations":{"`+known+`":7}}`)
		if a.Results[0].Ref != 7 {
			t.Errorf("%s has the ref %d", known, a.Results[0].Ref)
		}
	}
}

func TestAddressesAreCleaned(t *testing.T) {
	asked := site(t, nil)
	out, _ := run(t, `{"urls":[" a.example ","https://a.example","<https://b.example/>","","c","d","e","f","g","h","i","j","k"]}`, refs)
	if len(*asked) != maxURLs || (*asked)[0] != "https://a.example" || (*asked)[1] != "https://b.example/" {
		t.Errorf("asked %q", *asked)
	}
	if !out.IsError || !strings.Contains(out.Content[0].Text, "The name is not known.") ||
		!strings.Contains(out.Content[0].Text, "https://b.example/: ") {
		t.Errorf("answer is %+v", out)
	}
	if out, _ := run(t, `{"urls":[]}`, refs); !out.IsError || !strings.Contains(out.Content[0].Text, example) {
		t.Errorf("without an address: %+v", out)
	}
}

func TestWhatCannotBeReadIsSaid(t *testing.T) {
	const filler = `<header>` + "Site name and a menu" + `</header>`
	block := func(kind string) string {
		return fmt.Sprintf(`{"error":{"kind":%q,"message":"The host says why."}}`, kind)
	}
	html := func(body string) string { return served(t, 200, "text/html", []byte(body)) }
	for name, c := range map[string]struct{ block, says string }{
		"denied":         {block("denied"), "may not be opened: The host says why."},
		"unavailable":    {block("unavailable"), "cannot open addresses"},
		"invalid":        {block("invalid"), example},
		"sign in status": {served(t, 401, "", nil), "asks to sign in"},
		"refused":        {served(t, 403, "", nil), "refuses to show it"},
		"too many":       {served(t, 429, "", nil), "too many requests"},
		"server error":   {served(t, 503, "", nil), "a problem of its own"},
		"odd status":     {served(t, 304, "", nil), "status 304"},
		"empty":          {served(t, 200, "text/plain", nil), "is empty"},
		"PDF":            {served(t, 200, "application/pdf", []byte("%PDF-1.7 x")), "application/pdf"},
		"PNG as HTML":    {served(t, 200, "text/html", []byte("\x89PNG\r\n\x1a\n\x00")), "not text"},
		"video":          {served(t, 200, "video/mp4", []byte("abc")), "video/mp4"},
		"zeros":          {served(t, 200, "", []byte("\x00\x01\x02\x03\x04\x05ab")), "not text"},
		"consent":        {html(filler + `<div class="consent"><h1>Before you continue</h1><p>We use cookies and data.</p><button>Accept all</button></div>`), "cookies or consent"},
		"consent whole":  {html(`<body><p>We and our partners use cookies. Accept all or manage your preferences.</p></body>`), "cookies or consent"},
		"consent host": {served(t, 200, "text/html", []byte("<p>Weiter zu der Seite</p>"), "final_url",
			"https://consent.example/x"), "cookies or consent"},
		"script only": {html(`<html><head><title>App</title></head><body><div id="root"></div><noscript>You need to enable JavaScript to run this app.</noscript><script src="/a.js"></script></body></html>`), "with scripts"},
		"script mount": {html(`<body><div id="__next"></div><footer>About us</footer><script>1</script></body>`),
			"with scripts"},
		"robot":        {html(`<title>Just a moment...</title><body><h1>Checking your browser</h1><p>Please wait.</p></body>`), "prove that one is a person"},
		"sign in form": {html(`<body><main><h1>Welcome back</h1><form><input name=u><input type="password"></form></main></body>`), "asks to sign in"},
		"paywall": {html(`<main><p>The first sentence. Subscribe to continue reading.</p></main>`),
			"subscribers only"},
		"nothing": {html(`<html><body></body></html>`), "no text"},
	} {
		t.Run(name, func(t *testing.T) {
			site(t, map[string]string{"https://a.example/": c.block})
			out, a := run(t, `{"urls":["https://a.example/"]}`, refs)
			if !out.IsError || !strings.Contains(out.Content[0].Text, c.says) {
				t.Errorf("want %q in %+v %+v", c.says, out, a)
			}
		})
	}
}

func TestAShortPageAboutCookiesIsNoWall(t *testing.T) {
	p, err := opened(t, `<main><h1>Cookies</h1><p>Bake the cookies for nine minutes at 180 degrees.</p></main>`)
	if err != nil || !strings.Contains(p.Text, "nine minutes") {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestOtherKindsOfText(t *testing.T) {
	for name, c := range map[string]struct{ contentType, body, want, title string }{
		"JSON": {"application/json", `{"a":[1,2],"b":"x"}`, "{\n \"a\": [\n  1,\n  2\n ],\n \"b\": \"x\"\n}",
			""},
		"JSON of a kind": {"application/feed+json; charset=utf-8", `[1]`, "[\n 1\n]", ""},
		"broken JSON":    {"application/json", `{"a":`, `{"a":`, ""},
		"XML":            {"application/xml", "<a>\n <b>c</b>\n</a>", "<a>\n <b>c</b>\n</a>", ""},
		"feed":           {"application/rss+xml", "<rss><item>x</item></rss>", "<rss><item>x</item></rss>", ""},
		"Markdown":       {"text/markdown", "# Head\n\nText.\n\n\n\nMore.  ", "# Head\n\nText.\n\nMore.", "Head"},
		"CSV":            {"text/csv", "a,b\r\n1,2\r\n", "a,b\n1,2", ""},
		"script":         {"application/javascript", "let a = '<html>'", "let a = '<html>'", ""},
		"no type":        {"", "just words", "just words", ""},
		"no type, HTML": {"application/octet-stream",
			"<!DOCTYPE html><p>inner words of a page that is long enough</p>",
			"inner words of a page that is long enough", ""},
		"no type, JSON": {"", " [1]", "[\n 1\n]", ""},
		"HTML as text":  {"text/plain", "<html><p>source", "<html><p>source", ""},
		"odd type": {"TEXT/HTML;;charset", "<p>some words of a page that is long enough</p>",
			"some words of a page that is long enough", ""},
		"hidden in text":  {"text/plain", "a\u202eb\u200bc\U000e0041d\x07e", "abcde", ""},
		"joiners stay in": {"text/plain", "می\u200cخواهم", "می\u200cخواهم", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := read("https://a.example/", pdk.HTTPResult{Response: pdk.HTTPResponse{Status: 200,
				Headers: map[string]string{"content-type": c.contentType}, Body: []byte(c.body)}})
			if err != nil || p.Text != c.want || p.Title != c.title {
				t.Errorf("text %q, title %q, %v", p.Text, p.Title, err)
			}
		})
	}
}

func TestCharsets(t *testing.T) {
	encode := func(name string) func(string, error) []byte {
		return func(s string, err error) []byte {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return []byte(s)
		}
	}
	latin := encode("latin")(charmap.Windows1252.NewEncoder().String("<p>Zwölf Boxkämpfer jagen Viktor über den " +
		"großen Deich – „schnell“ und ohne Pause</p>"))
	sjis := encode("sjis")(japanese.ShiftJIS.NewEncoder().String("<html><body><p>灯台は、岬の先端や港湾内に設置され、船舶の航行目標となる施設である。灯台の光は遠くまで届く。</p></body></html>"))
	gbk := encode("gbk")(simplifiedchinese.GBK.NewEncoder().String("<p>灯塔是建于航道关键部位附近的一种塔状发光航标，其基本作用是引导船舶航行。</p>"))
	cyrillic := encode("koi8")(charmap.KOI8R.NewEncoder().String("<p>Маяк стоит на самом берегу моря и светит " +
		"кораблям всю ночь напролёт, до утра.</p>"))
	utf16 := encode("utf16")(unicode.UTF16(unicode.LittleEndian,
		unicode.UseBOM).NewEncoder().String("<p>Leuchtturm größer als gedacht, mit allem was dazugehört</p>"))
	euckr := encode("euckr")(korean.EUCKR.NewEncoder().String("<p>등대는 배를 안내한다. 바닷가에 높이 서서 밤새 빛을 비춘다.</p>"))
	wide := encode("utf32")(utf32.UTF32(utf32.BigEndian,
		utf32.IgnoreBOM).NewEncoder().String("<p>Leuchtturm größer als gedacht, mit allem</p>"))
	stateful := encode("jis")(japanese.ISO2022JP.NewEncoder().String("<p>灯台は、岬の先端や港湾内に設置され、船舶の航行目標となる施設である。</p>"))
	for name, c := range map[string]struct {
		contentType string
		body        []byte
		want        string
	}{
		"declared in the header": {"text/html; charset=windows-1252", latin, "großen Deich – „schnell“"},
		"declared as latin-1":    {"text/html; charset=iso-8859-1", latin, "„schnell“"},
		"declared in the page":   {"text/html", append([]byte(`<meta charset="shift_jis">`), sjis...), "灯台は、岬の先端"},
		"declared as gb2312":     {"text/html; charset=gb2312", gbk, "灯塔是建于航道"},
		"declared as koi8-r":     {"text/html; charset=KOI8-R", cyrillic, "Маяк стоит"},
		"a byte order mark":      {"text/html", utf16, "größer als gedacht"},
		"not declared, Japanese": {"text/html", sjis, "灯台は、岬の先端"},
		"not declared, UTF-8": {"text/html", []byte("<p>größer als alles, was man hier sonst so sieht</p>"),
			"größer"},
		"declared wrong, UTF-8": {"text/html; charset=iso-8859-1",
			[]byte("<p>größer als alles, was man hier sonst so sieht</p>"), "größer"},
		"a charset that is none": {"text/html; charset=klingon",
			[]byte("<p>größer als alles, was man hier sonst so sieht</p>"), "größer"},
		"bytes that are no text": {"text/html; charset=utf-8",
			[]byte("<p>one \xff\xfe\x80 two, and some more words to read here</p>"), "two, and some more"},
		"one NUL": {"text/html", []byte("<title>Log</title><p>First line\x00 second line.</p>"),
			"First line second line."},
		"not declared, Korean":  {"text/html", euckr, "등대는 배를 안내한다"},
		"UTF-16 without a mark": {"text/html", utf16[2:], "größer als gedacht"},
		"UTF-32 without a mark": {"text/html", wide, "größer als gedacht"},
		"ISO-2022-JP":           {"text/html", stateful, "灯台は、岬の先端"},
		"cut inside of a character": {"text/html; charset=utf-8",
			[]byte("<p>these are quite a few words to read here ü ü \xc3"), "words to read"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := read("https://a.example/", pdk.HTTPResult{Response: pdk.HTTPResponse{Status: 200,
				Headers: map[string]string{"content-type": c.contentType}, Body: c.body}})
			if err != nil || !strings.Contains(p.Text, c.want) {
				t.Errorf("text %q, %v", p.Text, err)
			}
		})
	}
}

func TestALongPageIsCutAroundTheQuery(t *testing.T) {
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, "Line %d speaks of the weather and of nothing else.\n", i)
		if i == 2500 {
			b.WriteString("The albatross nests on the northern rock.\n")
		}
	}
	text := b.String()
	blocks := map[string]string{"https://a.example/": served(t, 200, "text/plain", []byte(text), "truncated", "true")}
	for query, want := range map[string]string{"Where does the albatross nest?": "albatross nests", "": "Line 0 speaks",
		"zebra": "Line 0 speaks"} {
		site(t, blocks)
		args, _ := json.Marshal(map[string]any{"urls": []string{"https://a.example/"}, "query": query})
		_, a := run(t, string(args), refs)
		r := a.Results[0]
		n := len([]rune(r.Content))
		if n > maxPage || n < maxPage*9/10 || !strings.Contains(r.Content, want) {
			t.Errorf("%q: %d characters, beginning %q", query, n, clip(r.Content, 60))
		}
		if !strings.Contains(r.Note, "are shown") || !strings.Contains(r.Note, "larger than 2 MiB") {
			t.Errorf("%q: note %q", query, r.Note)
		}
		if at := strings.Index(r.Content, "albatross"); query != "" && want != "Line 0 speaks" &&
			(at < maxPage/4 || at > maxPage*3/4) {
			t.Errorf("the place stands at %d of %d", at, n)
		}
	}
	site(t, blocks)
	_, a := run(t, `{"urls":["https://a.example/"]}`,
		`{"bulkhead/refs":{"start":1,"count":9},"bulkhead/query":"albatross?"}`)
	if !strings.Contains(a.Results[0].Content, "albatross") {
		t.Error("the person's question does not count as a query")
	}
}

func TestTenLongPagesStayUnderTheCap(t *testing.T) {
	blocks := map[string]string{}
	var urls []string
	for i := range 10 {
		u := fmt.Sprintf("https://a.example/%d", i)
		urls = append(urls, u)
		blocks[u] = served(t, 200, "text/plain", []byte(strings.Repeat("灯台 ", 20_000)), "final_url", u)
	}
	site(t, blocks)
	args, _ := json.Marshal(map[string]any{"urls": urls})
	_, a := run(t, string(args), refs)
	total := 0
	for _, r := range a.Results {
		total += len([]rune(r.Content))
	}
	if len(a.Results) != 10 || total > maxTotal || total < maxTotal*8/10 {
		t.Errorf("%d pages of %d characters", len(a.Results), total)
	}
}

func TestHostilePagesGiveText(t *testing.T) {
	for name, html := range map[string]string{
		"deeply nested": strings.Repeat("<div>", 100_000) +
			"the words at the bottom of all those elements are still read",
		"deep formatting": strings.Repeat("<b><i><a href=x>", 20_000) +
			"the words at the bottom of all those elements are still read",
		"never closed": strings.Repeat("<p><table><tr><td>", 200) +
			"the words at the bottom of all those elements are still read",
		"many attributes": "<p " + strings.Repeat("a=b ", 100_000) +
			">the words at the bottom of all those elements are still read",
		"many links": "<main><p>the words at the bottom of all those elements are still read</p>" +
			strings.Repeat("<a href='/x'>y</a> ", 20_000) + "</main>",
		"wide table": "<main><p>the words at the bottom of all those elements are still read</p><table><tr>" +
			strings.Repeat("<td>x", 5_000) + "</table></main>",
		"huge colspan": "<main><p>the words at the bottom of all those elements are still " +
			"read</p><table><tr><td colspan=1000000000 rowspan=1000000000>x<td>y<tr><td>z</table></main>",
		"markup in the words": "<main><p>the words at the bottom of all those elements are still read ]( " +
			"![x](http://t.example/p.png) ``` </p></main>",
		"zero bytes as refs": "<main><p>the words at the bottom of all those elements are still read &#0; &#x110000; " +
			"&#xD800;</p></main>",
	} {
		t.Run(name, func(t *testing.T) {
			p, err := opened(t, html)
			if err != nil || !strings.Contains(p.Text, "bottom of all those elements are still read") {
				t.Errorf("text %q, %v", clip(p.Text, 200), err)
			}
		})
	}
}

func FuzzPage(f *testing.F) {
	for _, s := range shapes() {
		f.Add("text/html", []byte(s.html))
	}
	f.Add("text/html; charset=utf-16le", []byte("<\x00p\x00>\x00"))
	f.Add("application/json", []byte(`{"a":[`))
	f.Add("", []byte("<table><tr><td><table></td>x<svg><title><p></svg><math><mi>"))
	f.Add("text/html", []byte("<p><a><p><a><table><a><b></p></a>"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		p, err := read("https://a.example/x", pdk.HTTPResult{Response: pdk.HTTPResponse{Status: 200,
			Headers: map[string]string{"content-type": contentType}, Body: body}})
		if err != nil {
			return
		}
		if strings.ToValidUTF8(p.Text, "") != p.Text || strings.ContainsAny(p.Text, "\x00\x1b\u202e") {
			t.Errorf("text %q", p.Text)
		}
		part, _ := excerpt(p.Text, contentType, 100)
		if len([]rune(part)) > 100 {
			t.Errorf("an excerpt of %d characters", len([]rune(part)))
		}
	})
}
