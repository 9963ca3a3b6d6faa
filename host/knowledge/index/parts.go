package index

import (
	"bytes"

	banalysis "github.com/blevesearch/bleve/v2/analysis"
)

// parts adds to a word that Unicode's rules hold together with dots, colons,
// underscores or apostrophes (parse_manifest, http.Handler, l'eau) the words that
// it is made of.
type parts struct{}

func (parts) Filter(in banalysis.TokenStream) banalysis.TokenStream {
	out := make(banalysis.TokenStream, 0, len(in))
	for _, t := range in {
		out = append(out, t)
		whole := t.Term
		if i := bytes.LastIndexByte(whole, '\''); i >= 0 && len(whole)-i <= 3 {
			whole = whole[:i] // the ending of "it's", "we'll", "don't"
		}
		if t.Type != banalysis.AlphaNumeric || !bytes.ContainsFunc(whole, joint) {
			continue
		}
		at := 0
		for _, word := range bytes.FieldsFunc(whole, joint) {
			n := at + bytes.Index(whole[at:], word)
			at = n + len(word)
			if len(word) == len(t.Term) || len(word) <= 2 && at < len(whole) && whole[at] == '\'' {
				continue // an elided article as in "l'eau" is no word
			}
			p := *t
			p.Term = bytes.Clone(word)
			p.Start, p.End = t.Start+n, t.Start+at
			out = append(out, &p)
		}
	}
	return out
}

func joint(r rune) bool { return r == '.' || r == ':' || r == '_' || r == '\'' }
