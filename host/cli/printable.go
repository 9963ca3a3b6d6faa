package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printf writes to w; what the terminal cannot take is lost, as in every command.
// It writes for a person: what models, documents and plugins say passes through
// Printable.
func printf(w io.Writer, format string, args ...any) {
	fmt.Fprint(w, Printable(fmt.Sprintf(format, args...)))
}

// Printable returns text with nothing in it that commands a terminal: each
// control character but tab and newline becomes U+FFFD, and carriage returns are
// left out. Whoever wrote the text could otherwise move the cursor, change the
// window's title or write over what stands there.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return -1
		case unicode.IsControl(r):
			return utf8.RuneError
		}
		return r
	}, text)
}
