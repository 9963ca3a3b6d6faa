package chunk

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/knowledge/extract"
)

func split(text string, f extract.Format) []Chunk { return Split(text, extract.Blocks(text, f)) }

// document draws a text of Markdown parts of all sizes, with parts that do not
// end where they should.
func document(t *rapid.T) string {
	part := rapid.Custom(func(t *rapid.T) string {
		words := strings.Repeat(rapid.SampledFrom([]string{"word ", "Ein Satz. ", "漢字。", "x", "🚀 ", "a\n"}).Draw(t,
			"word"), rapid.IntRange(1, 900).Draw(t, "words"))
		switch rapid.IntRange(0, 8).Draw(t, "kind") {
		case 0, 1:
			return strings.Repeat("#", rapid.IntRange(1, 4).Draw(t, "level")) + " Heading " + rapid.StringN(0, 8,
				-1).Draw(t, "title") + "\n"
		case 2:
			return "```\n" + strings.Repeat("code line\n\n", rapid.IntRange(1, 300).Draw(t, "lines")) + "```\n"
		case 3:
			return "| a | b |\n|---|---|\n" + strings.Repeat("| cell | cell two |\n",
				rapid.IntRange(0, 150).Draw(t, "rows")) + "\n"
		case 4:
			return strings.Repeat("- item "+words[:min(len(words), 6)]+"\n", rapid.IntRange(1, 200).Draw(t, "items"))
		case 5:
			return "> " + words + "\n\n"
		case 6:
			return rapid.String().Draw(t, "noise")
		}
		return words + "\n\n"
	})
	return strings.ToValidUTF8(strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), ""), "")
}

func TestChunksCoverTheTextWithoutLossOrOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := document(t)
		f := rapid.SampledFrom([]extract.Format{extract.Markdown, extract.Plain}).Draw(t, "format")
		chunks := split(text, f)
		if strings.TrimSpace(text) == "" {
			if len(chunks) != 0 {
				t.Fatalf("%d chunks of nothing", len(chunks))
			}
			return
		}
		at := 0
		for i, c := range chunks {
			if c.Start != at || c.End <= c.Start {
				t.Fatalf("chunk %d is [%d,%d), want start %d", i, c.Start, c.End, at)
			}
			part := text[c.Start:c.End]
			if n := utf8.RuneCountInString(part); n > Max || !utf8.ValidString(part) {
				t.Fatalf("chunk %d has %d code points, valid %v", i, n, utf8.ValidString(part))
			}
			at = c.End
		}
		if at != len(text) {
			t.Fatalf("chunks end at %d of %d", at, len(text))
		}
	})
}

func TestCodeAndTableRowsStayWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := document(t)
		blocks := extract.Blocks(text, extract.Markdown)
		cuts := map[int]bool{}
		for _, c := range Split(text, blocks) {
			cuts[c.Start] = true
		}
		for _, b := range blocks {
			part := text[b.Start:b.End]
			if b.Kind != extract.Code && b.Kind != extract.Table {
				continue
			}
			for at := b.Start + 1; at < b.End; at++ {
				if !cuts[at] {
					continue
				}
				if utf8.RuneCountInString(part) <= Max {
					t.Fatalf("a block of %d bytes was cut", len(part))
				}
				if text[at-1] != '\n' && longestLine(part) <= Max {
					t.Fatalf("cut inside a line: %q", text[max(0, at-20):at])
				}
			}
		}
	})
}

func longestLine(s string) int {
	n := 0
	for line := range strings.SplitSeq(s, "\n") {
		n = max(n, utf8.RuneCountInString(line)+1)
	}
	return n
}

func TestSectionsStayApartUnlessShort(t *testing.T) {
	long := strings.Repeat("This is a sentence of the section. ", 20) // 700
	text := "# Guide\n\nIntro.\n\n## One\n\nshort\n\n## Two\n\nshort too\n\n## Three\n\n" + long + "\n\n## Four\n\n" +
		long + "\n"
	var got []string
	for _, c := range split(text, extract.Markdown) {
		got = append(got, strings.Join(c.Path, ">")+" ["+strings.Join(c.Headings, ",")+"]")
	}
	want := "Guide [One,Two,Three]; Guide>Four []"
	if s := strings.Join(got, "; "); s != want {
		t.Fatalf("got %s, want %s", s, want)
	}
}

func TestUnrelatedChaptersStayApart(t *testing.T) {
	chunks := split("# A\n\nshort\n\n# B\n\nshort\n", extract.Markdown)
	if len(chunks) != 2 || chunks[1].Path[0] != "B" {
		t.Fatalf("got %+v", chunks)
	}
}

func TestNoChunkEndsWithALoneHeading(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "## Section %d\n\n%s\n\n", i, strings.Repeat("word ", 60+i*9))
	}
	text := b.String()
	chunks := split(text, extract.Markdown)
	for i, c := range chunks {
		lines := strings.Split(strings.TrimSpace(text[c.Start:c.End]), "\n")
		if strings.HasPrefix(lines[len(lines)-1], "#") {
			t.Errorf("chunk %d ends with %q", i, lines[len(lines)-1])
		}
	}
	if len(chunks) < 10 {
		t.Fatalf("%d chunks", len(chunks))
	}
}

func TestLongProseIsCutAtSentences(t *testing.T) {
	text := strings.Repeat("A sentence that says something of use, and then ends. ", 100)
	chunks := split(text, extract.Plain)
	if len(chunks) < 4 {
		t.Fatalf("%d chunks", len(chunks))
	}
	for i, c := range chunks[:len(chunks)-1] {
		if part := text[c.Start:c.End]; !strings.HasSuffix(part, "ends. ") {
			t.Errorf("chunk %d ends with %q", i, part[len(part)-20:])
		}
	}
}
