package extract

import (
	"strings"
	"testing"
)

func BenchmarkPlainLine(b *testing.B) {
	text := strings.Repeat("A sentence with `code`, **bold** words and a [link](https://example.org/page).\n", 16)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		PlainLine(text)
	}
}

func BenchmarkBlocks(b *testing.B) {
	text := strings.Repeat("## Section\n\nA paragraph of some words.\n\n- item one\n- item two\n\n```go\nx := "+
		"1\n```\n\n", 500)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Blocks(text, Markdown)
	}
}
