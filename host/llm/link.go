package llm

import (
	"net/url"
	"strings"
	"unicode"
)

// maxTitle bounds the title of a link, in code points.
const maxTitle = 120

// Link writes a source that a provider found as a Markdown link. Neither title nor
// address can end it early or begin another; without a title the host stands for
// one.
func Link(title string, u *url.URL) string {
	title = strings.Map(func(r rune) rune {
		switch {
		case r == '[' || r == ']' || r == '<' || r == '>' || r == '`' || r == '\\' || r == '!' || !unicode.IsPrint(r):
			return ' '
		}
		return r
	}, title)
	if title = strings.Join(strings.Fields(title), " "); title == "" {
		title = u.Host
	}
	if runes := []rune(title); len(runes) > maxTitle {
		title = string(runes[:maxTitle]) + "…"
	}
	address := strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E").Replace(u.String())
	return "[" + title + "](" + address + ")"
}
