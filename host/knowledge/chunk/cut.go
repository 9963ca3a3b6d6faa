package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/knowledge/extract"
)

// cut returns a block whole if it is at most Max long, else in pieces: code and
// tables at line ends, prose at sentence ends; what is still too long at white
// space, and then anywhere between two code points.
func cut(text string, b extract.Block) []piece {
	var out []piece
	for start := b.Start; start < b.End; {
		end := b.End
		if size := runes(text[start:end]); size > Max {
			end = start + cutAt(text[start:end], b.Kind)
		}
		out = append(out, piece{
			start: start, end: end, size: runes(text[start:end]), path: b.Path,
			heading: b.Kind == extract.Heading && start == b.Start && end == b.End,
		})
		start = end
	}
	return out
}

// cutAt returns where to cut s, which is longer than Max: the last good place
// within Max, but for prose within Target, so that pieces are of a useful size.
func cutAt(s string, kind extract.Kind) int {
	limit, floor := offset(s, Max), offset(s, Short)
	if kind == extract.Code || kind == extract.Table {
		if n := strings.LastIndexByte(s[:limit], '\n'); n >= 0 {
			return n + 1
		}
		floor = 0
	} else {
		target := offset(s, Target)
		if n := sentenceEnd(s[:target]); n >= floor {
			return n
		}
		if n := sentenceEnd(s[:limit]); n >= floor {
			return n
		}
		limit = target
	}
	if n := strings.LastIndexFunc(s[:limit], unicode.IsSpace); n > floor {
		_, width := utf8.DecodeRuneInString(s[n:])
		return n + width
	}
	return limit
}

// offset is the byte offset of code point n of s, which has more than n.
func offset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// sentenceEnd returns the offset after the last sentence of s and its white
// space, or 0.
func sentenceEnd(s string) int {
	for i := len(s); i > 0; {
		r, width := utf8.DecodeLastRuneInString(s[:i])
		switch r {
		case '。', '！', '？', '．':
			return i
		case '.', '!', '?', '…':
			if next, w := utf8.DecodeRuneInString(s[i:]); w > 0 && unicode.IsSpace(next) {
				for i < len(s) {
					next, w = utf8.DecodeRuneInString(s[i:])
					if !unicode.IsSpace(next) {
						break
					}
					i += w
				}
				return i
			}
		}
		i -= width
	}
	return 0
}
