package cite

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

func docs(refs ...int) *Documents {
	var known []packet.Document
	for _, r := range refs {
		known = append(known, packet.Document{ID: strings.Repeat("d", r), Ref: r})
	}
	return NewDocuments(known)
}

// rewrite returns the screen text and the refs in the order of their numbers,
// and fails if a marker is shown before it was announced.
func rewrite(t interface{ Fatalf(string, ...any) }, answer *Answer, chunks ...string) string {
	s := answer.Stream()
	var out string
	announced := 0
	take := func(p Piece) {
		announced += len(p.New)
		out += p.Text
	}
	for _, c := range chunks {
		take(s.Write(c))
	}
	take(s.Close())
	if announced > len(answer.Cited()) {
		t.Fatalf("announced %d, cited %d", announced, len(answer.Cited()))
	}
	return out
}

func TestMarkersBecomeNumbersInOrderOfFirstUse(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"one", "It is so [7].", "It is so [[1]]."},
		{"order of use", "A [9] B [7] C [9]", "A [[1]] B [[2]] C [[1]]"},
		{"list", "A [7, 9].", "A [[1]][[2]]."},
		{"double", "A [[7]].", "A [[1]]."},
		{"lenticular", "A【7】 B【9†L1-L4】", "A[[1]] B[[2]]"},
		{"unknown ref", "A [8].", "A [8]."},
		{"partly unknown", "A [7, 8].", "A [[1]]."},
		{"a range", "A [7-9].", "A [[1]][[2]]."},
		{"a range with a dash", "A [7–9].", "A [[1]][[2]]."},
		{"a range of nothing known", "A [1-3], in [1990-1999].", "A [1-3], in [1990-1999]."},
		{"with a word", "A [ref 7] B [Refs 7, 9] C [source 9].", "A [[1]] B [[1]][[2]] C [[2]]."},
		{"a word alone", "A [reference] [ref] [re", "A [reference] [ref] [re"},
		{"fence of tildes", "~~~python\na[7]\n~~~\n[7]", "~~~python\na[7]\n~~~\n[[1]]"},
		{"a fence of the other kind inside", "~~~\n```\na[7]\n~~~\n[7]", "~~~\n```\na[7]\n~~~\n[[1]]"},
		{"indented code", "x\n\n    y = b[7]\n\n    z[7]\n\n[7]", "x\n\n    y = b[7]\n\n    z[7]\n\n[[1]]"},
		{"indented, but the paragraph goes on", "x\n    y [7]", "x\n    y [[1]]"},
		{"indented in a list", "- x\n\n    y [7]\n    - z [9]", "- x\n\n    y [[1]]\n    - z [[2]]"},
		{"inline code of two", "``a` [7]`` [7]", "``a` [7]`` [[1]]"},
		{"a stray backtick", "a ` b [7] c", "a ` b [[1]] c"},
		{"a stray backtick, then code", "it`s [7]\n\n`a[7]` [9]", "it`s [[1]]\n\n`a[7]` [[2]]"},
		{"a formula", `$z \in [7]$ and [7]`, `$z \in [7]$ and [[1]]`},
		{"a formula of two", "$$\na[7]\n$$\n[7]", "$$\na[7]\n$$\n[[1]]"},
		{"a formula in brackets", `\(a[7]\) \[b[7]\] [7]`, `\(a[7]\) \[b[7]\] [[1]]`},
		{"money", "It costs $5 [7] or $6 [9].", "It costs $5 [[1]] or $6 [[2]]."},
		{"a formula, then money", "$x$ is $5 [7].", "$x$ is $5 [[1]]."},
		{"in a link", "[a link [7]](https://e.org) x", "[a link](https://e.org)[[1]] x"},
		{"in a link, two", "[a [7] link [9]](/x)", "[a  link](/x)[[1]][[2]]"},
		{"in the target", "[a](https://e.org/?q=[7])", "[a](https://e.org/?q=[7])"},
		{"brackets in brackets", "[see [7], too]", "[see [[1]], too]"},
		{"foreign double loses a pair", "A [[8]].", "A [8]."},
		{"link", "see [7](https://example.org)", "see [7](https://example.org)"},
		{"inline code", "`a[7]` and [7]", "`a[7]` and [[1]]"},
		{"fence", "```\na[7] `\n```\n[7]", "```\na[7] `\n```\n[[1]]"},
		{"lone backtick ends with the paragraph", "a ` b\n\n[7]", "a ` b\n\n[[1]]"},
		{"at the end", "A [7]", "A [[1]]"},
		{"open at the end", "A [7", "A [7"},
		{"other brackets", "[x] [1, b] [] [", "[x] [1, b] [] ["},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := rewrite(t, NewAnswer(docs(7, 9)), c.in); got != c.want {
				t.Errorf("whole: got %q, want %q", got, c.want)
			}
			bytes := make([]string, len(c.in))
			for i := range bytes {
				bytes[i] = c.in[i : i+1]
			}
			if got := rewrite(t, NewAnswer(docs(7, 9)), bytes...); got != c.want {
				t.Errorf("byte by byte: got %q, want %q", got, c.want)
			}
		})
	}
}

func TestNumbersGoOnOverBlocks(t *testing.T) {
	a := NewAnswer(docs(7, 9))
	first, second := rewrite(t, a, "x [9]"), rewrite(t, a, "y [7] [9]")
	if first != "x [[1]]" || second != "y [[2]] [[1]]" {
		t.Errorf("got %q, %q", first, second)
	}
}

func TestAnySplitRewritesAlike(t *testing.T) {
	piece := rapid.SampledFrom([]string{"[7]", "[9]", "[", "]", "【7】", "【", "†", "`", "```\n", "\n", "\n\n", "7", ", ",
		"(", ")", "[[7]]", "[[8]]", "text", " ", "~~~\n", "$", "$$", `\(`, `\]`, "    ", "- ", "[7-9]", "[ref ", "[a [7]](u)"})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(piece, 0, 14).Draw(t, "pieces"), "")
		cut := rapid.IntRange(0, len(in)).Draw(t, "cut")
		whole := rewrite(t, NewAnswer(docs(7, 9)), in)
		split := rewrite(t, NewAnswer(docs(7, 9)), in[:cut], in[cut:])
		if whole != split {
			t.Fatalf("cut %d of %q: %q, whole %q", cut, in, split, whole)
		}
	})
}

func FuzzStreamNeverPanicsAndKeepsPlainText(f *testing.F) {
	f.Add("a [7] `b`", 3)
	f.Fuzz(func(t *testing.T, in string, cut int) {
		if cut < 0 || cut > len(in) {
			return
		}
		got := rewrite(t, NewAnswer(docs()), in[:cut], in[cut:])
		if !strings.Contains(in, "[[") && got != in {
			t.Fatalf("got %q, want %q", got, in)
		}
	})
}

func TestScreenTextGoesBackToRefs(t *testing.T) {
	got := ToRefs("A [[1]][[2]] b [[3]] c[1]", map[int]int{1: 101, 2: 7})
	if want := "A [101][7] b [[3]] c[1]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOneDocumentUnderTwoRefsHasOneNumber: calls that run at once may each give it a
// ref of their own.
func TestOneDocumentUnderTwoRefsHasOneNumber(t *testing.T) {
	docs := NewDocuments([]packet.Document{{ID: "one", Ref: 1}, {ID: "one", Ref: 101}, {ID: "two", Ref: 7}})
	for name, tc := range map[string]struct {
		answer *Answer
		want   string
	}{
		"an answer": {NewAnswer(docs), "a[[1]] b[[1]] c[[1]][[2]] d[[1]]"},
		"one that goes on": {GoOn(docs, []packet.CitationInfo{{CitationNumber: 4, Ref: 1,
			Document: packet.Document{ID: "one", Ref: 1}}}), "a[[4]] b[[4]] c[[4]][[2]] d[[4]]"},
		"the report of an agent": {ByRef(docs), "a[[101]] b[[101]] c[[101]][[7]] d[[101]]"},
	} {
		s := tc.answer.Stream()
		piece := s.Write("a[101] b[1] c[1, 7] d[1, 101]")
		if got := piece.Text + s.Close().Text; got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestAReportAnnouncesWhatEachBlockCites(t *testing.T) {
	a := ByRef(NewDocuments([]packet.Document{{ID: "one", Ref: 5}, {ID: "two", Ref: 7}}))
	for i, want := range []int{1, 2, 0} {
		s := a.Stream()
		n := len(s.Write([]string{"x[5] y[5].", "x[5] y[7].", "none"}[i]).New) + len(s.Close().New)
		if n != want {
			t.Errorf("block %d announces %d documents, want %d", i, n, want)
		}
	}
	if cited := a.Cited(); len(cited) != 2 || cited[0].Ref != 5 || cited[1].Ref != 7 {
		t.Errorf("cited %+v", cited)
	}
}
