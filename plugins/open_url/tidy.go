package main

import (
	"strings"
)

// tidy drops characters that nobody sees, spaces at the ends of lines, and empty
// lines beyond one.
func tidy(text string) string {
	text = strings.Map(visible, strings.ReplaceAll(text, "\r\n", "\n"))
	var out strings.Builder
	out.Grow(len(text))
	empty := true // no empty line at the beginning
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \t\u00a0")
		if line == "" {
			if !empty {
				out.WriteByte('\n')
			}
			empty = true
			continue
		}
		out.WriteString(line)
		out.WriteByte('\n')
		empty = false
	}
	return strings.TrimRight(out.String(), "\n")
}

// visible drops control characters, characters that hide or reorder others, and
// the tag characters in which text can be smuggled. Joiners stay: scripts need
// them.
func visible(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == '\r' || r == '\u2028' || r == '\u2029':
		return '\n'
	case r < ' ' || r >= 0x7f && r < 0xa0, r == '\u00ad', r == '\u200b', r == '\u2060', r == '\ufeff',
		r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r >= 0xe0000 && r <= 0xe007f:
		return -1
	}
	return r
}

// clip cuts a text to n characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n])
}

// oneLine is a text in one line of at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(strings.Map(visible, s)), " ")
	if short := clip(s, n); short != s {
		return strings.TrimSpace(short) + "…"
	}
	return s
}
