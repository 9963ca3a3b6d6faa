package extract

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestALongTextHasTheBlocksOfItsParts compares a text that is parsed in pieces
// with its parts, each short enough to be parsed whole.
func TestALongTextHasTheBlocksOfItsParts(t *testing.T) {
	part := func(i int) string {
		return fmt.Sprintf("# Chapter %d\n\nProse of *some* words.\nA second line.\n\n- item one\n\n  more of it\n- "+
			"item two\n\n"+
			"> quoted\n\n```go\nx := 1\n\n# no heading\n\ny := 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## "+
			"Section\n\n1. first\n\n   ~~~\n\n   left\n   ~~~\n\n%s\n\n",
			i, strings.Repeat("word ", i%50))
	}
	var long strings.Builder
	var want []Block
	for i := 0; long.Len() < 5*maxPiece; i++ {
		for _, b := range Blocks(part(i), Markdown) {
			b.Start += long.Len()
			b.End += long.Len()
			want = append(want, b)
		}
		long.WriteString(part(i))
	}
	got := Blocks(long.String(), Markdown)
	if len(got) != len(want) {
		t.Fatalf("%d blocks, want %d", len(got), len(want))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("block %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestPiecesEndWhereNothingGoesOn(t *testing.T) {
	fill := strings.Repeat("word\n", pieceSize/5+1)
	for name, c := range map[string]struct{ after, want string }{
		"a paragraph":           {"more\n\nnext\n", "next\n"},
		"an item that goes on":  {"\n- a\n\n  b\n\nnext\n", "- a\n\n  b\n\nnext\n"},
		"a fence":               {"```\n\nx\n\n```\n\nnext\n", "next\n"},
		"a fence in quotes":     {"> ```\n>\n> x\n\nnext\n", ""},
		"a longer fence":        {"````\n```\n\nx\n````\n\nnext\n", "next\n"},
		"code on one line":      {"```x```\n\nnext\n", "next\n"},
		"a fence that stays":    {"```\n\nx\n\ny\n", ""},
		"nothing but one block": {strings.Repeat("x\n", 100), ""},
	} {
		src := fill + c.after
		src += strings.Repeat("end\n", (maxPiece+8-len(src))/4+1)
		at := pieceEnd(src)
		if c.want != "" && !strings.HasPrefix(src[at:], c.want) {
			t.Errorf("%s: the next piece begins with %.30q", name, src[at:])
		}
		if c.want == "" && (at < maxPiece-4 || at > maxPiece+4) {
			t.Errorf("%s: the piece has %d bytes", name, at)
		}
	}
}

func TestOneLineLongerThanAPieceIsOnePiece(t *testing.T) {
	line := strings.Repeat("x", 3*maxPiece)
	if at := pieceEnd(line + "\n\nnext\n"); at != len(line)+1 && at != len(line)+2 {
		t.Errorf("cut at %d of %d", at, len(line))
	}
	blocks := Blocks(line+"\n\nnext\n", Markdown)
	if len(blocks) != 2 || blocks[0].End != len(line)+2 {
		t.Errorf("%+v", blocks)
	}
}

func TestPlainTextIsLeftAsItIs(t *testing.T) {
	for _, s := range []string{"plain words", "two  spaces\n", "ümläut 漢字 1 2 3", "a: b; c? d! e, f/g 'h' \"i\" {j} (k",
		"50 % of $1 @home ^up"} {
		if got := PlainLine(s); got != strings.Join(strings.Fields(s), " ") {
			t.Errorf("%q became %q", s, got)
		}
	}
}
