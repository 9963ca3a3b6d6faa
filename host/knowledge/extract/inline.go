package extract

import (
	"html"
	"regexp"
	"strings"
)

var (
	imageOrLink = regexp.MustCompile(`!?\[([^\[\]]*)\](?:\([^()\s]*(?:\s+"[^"]*")?\)|\[[^\[\]]*\])`)
	inlineTag   = regexp.MustCompile(`</?[A-Za-z][^<>]*>|<!--[^<>]*-->`)
	autoLink    = regexp.MustCompile(`<((?:https?|mailto):[^<>\s]+)>`)
	emphasis    = regexp.MustCompile(`(^|[^\pL\pN*_])(\*{1,3}|_{1,3}|~~)([^\s*_~](?:[^*_~]*[^\s*_~])?)(\*{1,3}|_{1,3}|~~)($|[^\pL\pN*_])`)
	codeSpan    = regexp.MustCompile("`+([^`]*)`+")
	escaped     = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")
	lineMarker  = regexp.MustCompile(`(?m)^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]+|#{1,6}[ \t]+|(?:` + "```|~~~" +
		`)[^\n]*$|[|:\- \t]+\|[|:\- \t]*$|(?:=+|(?:[-*_][ \t]*){3,})$)+`)
	cellBorder = regexp.MustCompile(`\s*\|\s*`)
)

// marking is what every mark, list number and entity has at least one byte of.
const marking = "#>-*+|=_`~[]<&\\.)"

// PlainLine returns the readable text of a short piece of Markdown on one line:
// no marks of headings, lists, quotations, tables, emphasis or links. It is for
// titles and snippets; text inside code loses its back ticks only.
func PlainLine(md string) string {
	if !strings.ContainsAny(md, marking) {
		return strings.Join(strings.Fields(md), " ")
	}
	s := lineMarker.ReplaceAllString(md, "")
	s = autoLink.ReplaceAllString(s, "$1")
	s = inlineTag.ReplaceAllString(s, " ")
	for range 2 { // an image inside a link
		s = imageOrLink.ReplaceAllString(s, "$1")
	}
	s = codeSpan.ReplaceAllString(s, "$1")
	for range 2 { // bold around italic
		s = emphasis.ReplaceAllString(s, "$1$3$5")
	}
	s = escaped.ReplaceAllString(s, "$1")
	s = cellBorder.ReplaceAllString(s, " ")
	return strings.Join(strings.Fields(html.UnescapeString(s)), " ")
}
