package decode

import (
	"bytes"
	"mime"
	"regexp"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/japanese"
)

// head is where a page or an XML document declares its encoding.
const head = 1024

var (
	metaElement    = regexp.MustCompile(`(?i)<meta[^>]+charset\s*=\s*["']?\s*([a-z0-9_:.-]+)`)
	xmlDeclaration = regexp.MustCompile(`(?i)^\s*<\?xml[^>]+encoding\s*=\s*["']([a-z0-9_:.-]+)`)
)

// declared reads what is in the encoding that its sender or it itself names, unless
// that gives more than a few characters that cannot be read.
func declared(data []byte, contentType string) (Text, bool) {
	var label string
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		label = params["charset"]
	}
	begin := data[:min(len(data), head)]
	for _, in := range []*regexp.Regexp{metaElement, xmlDeclaration} {
		if m := in.FindSubmatch(begin); label == "" && m != nil {
			label = string(m[1])
		}
	}
	e, name := charset.Lookup(label)
	switch {
	case e == nil, name == "replacement", name == "x-user-defined":
		return Text{}, false
	case strings.HasPrefix(name, "utf-"): // what reads these needs no declaration
		return Text{}, false
	}
	t := through(name, e, data)
	return t, t.Replaced*20 <= len(data)
}

// stateful reads ISO-2022-JP, which is made of ASCII's bytes and escapes.
func stateful(data []byte, _ string) (Text, bool) {
	if !bytes.Contains(data, []byte("\x1b$B")) && !bytes.Contains(data, []byte("\x1b$@")) {
		return Text{}, false
	}
	t := through("iso-2022-jp", japanese.ISO2022JP, data)
	return t, t.Replaced*20 <= len(data)
}
