package extract

import "strings"

// The sizes of the pieces in which a long Markdown text is parsed, in bytes.
// goldmark's tree takes some twenty times the size of its text, and its work on
// one paragraph of link definitions grows with the square of it.
const (
	// pieceSize is where the next good place ends a piece.
	pieceSize = 64 << 10
	// maxPiece is where any line does.
	maxPiece = 128 << 10
)

// pieceEnd returns the length of the first piece of a text. A good place to cut
// is before a line that follows a blank one, stands at the left margin and is not
// inside a code block between fences: there no list, quotation or paragraph goes
// on. A block of more than maxPiece is cut at a line.
func pieceEnd(src string) int {
	if len(src) <= maxPiece {
		return len(src)
	}
	var fence string
	blank, line := false, 0
	for at := 0; at < len(src); {
		end := len(src)
		if n := strings.IndexByte(src[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		if at >= pieceSize && blank && fence == "" && !strings.ContainsAny(src[at:at+1], " \t\n") {
			return at
		}
		if at > maxPiece {
			return line
		}
		text := strings.TrimLeft(src[at:end], " \t>")
		fence = fenceAfter(fence, text)
		blank = strings.TrimSpace(text) == ""
		line, at = end, end
	}
	return len(src)
}

// fenceAfter returns the fence that is open after a line, "" for none.
func fenceAfter(open, line string) string {
	n := len(line) - len(strings.TrimLeft(line, line[:min(1, len(line))]))
	if n < 3 || line[0] != '`' && line[0] != '~' {
		return open
	}
	switch fence, rest := line[:n], line[n:]; {
	case open == "" && (line[0] == '~' || !strings.Contains(rest, "`")):
		return fence
	case open != "" && open[0] == line[0] && n >= len(open) && strings.TrimSpace(rest) == "":
		return ""
	}
	return open
}
