package index

import (
	"bytes"

	banalysis "github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
)

// The searched fields.
const (
	title = iota
	section
	content
	fields // how many
)

var fieldNames = [fields]string{"title", "section", "content"}

// fieldExact holds the terms of all searched fields without stemming.
const fieldExact = "exact"

// maxTerm is the longest term that is indexed or searched, in bytes. Longer
// ones (base64, minified code) are nobody's question.
const maxTerm = 64

// analysis turns text into terms: Unicode words, width-folded, in lower case,
// English possessives cut; names such as http.Handler whole and in parts; runs of Chinese, Japanese and Korean characters as
// single characters and pairs; each as it stands and with its English suffix
// stemmed. It is safe for concurrent use.
type analysis struct {
	words   banalysis.Tokenizer
	common  []banalysis.TokenFilter
	stem    banalysis.TokenFilter
	stopped banalysis.TokenMap
}

func newAnalysis() analysis {
	stopped := banalysis.NewTokenMap()
	// The list is part of the package; it always loads.
	_ = stopped.LoadBytes(en.EnglishStopWords)
	return analysis{
		words: unicode.NewUnicodeTokenizer(),
		common: []banalysis.TokenFilter{
			cjk.NewCJKWidthFilter(),
			parts{},
			lowercase.NewLowerCaseFilter(),
			en.NewPossessiveFilter(),
			cjk.NewCJKBigramFilter(true),
		},
		stem:    porter.NewPorterStemmer(),
		stopped: stopped,
	}
}

// both returns the terms of text as they stand and stemmed, one for one.
func (a analysis) both(text []byte) (exact, stemmed banalysis.TokenStream) {
	all := a.words.Tokenize(text)
	for _, f := range a.common {
		all = f.Filter(all)
	}
	exact = all[:0]
	for _, t := range all {
		if len(t.Term) > 0 && len(t.Term) <= maxTerm {
			exact = append(exact, t)
		}
	}
	stemmed = make(banalysis.TokenStream, len(exact))
	for i, t := range exact {
		c := *t
		c.Term = bytes.Clone(t.Term) // the stemmer writes in place
		stemmed[i] = &c
	}
	return exact, a.stem.Filter(stemmed)
}

// term is one word of a question.
type term struct{ stemmed, exact string }

// maxTerms is how many different words of a question are searched for.
const maxTerms = 64

// question returns the different words of a question in their order, without
// English function words if other words are left. The text is only ever taken
// apart into words: it has no syntax.
func (a analysis) question(text string) []term {
	exact, stemmed := a.both([]byte(text))
	var words, rest []term
	seen := map[string]bool{}
	for i := range exact {
		t := term{string(stemmed[i].Term), string(exact[i].Term)}
		if seen[t.stemmed] {
			continue
		}
		seen[t.stemmed] = true
		if a.stopped[t.exact] {
			rest = append(rest, t)
		} else {
			words = append(words, t)
		}
	}
	if len(words) == 0 {
		words = rest
	}
	return words[:min(len(words), maxTerms)]
}

// tokens is an analyzer that was run before.
type tokens banalysis.TokenStream

func (t tokens) Analyze([]byte) banalysis.TokenStream { return banalysis.TokenStream(t) }

// keyword is the analyzer of fields that are one term.
var keyword banalysis.Analyzer = whole{}

type whole struct{}

func (whole) Analyze(text []byte) banalysis.TokenStream {
	return banalysis.TokenStream{{Term: text, Start: 0, End: len(text), Position: 1, Type: banalysis.AlphaNumeric}}
}

// parts adds to a word that Unicode's rules hold together with dots, colons or
// underscores (parse_manifest, http.Handler) the words that it is made of.
type parts struct{}

func (parts) Filter(in banalysis.TokenStream) banalysis.TokenStream {
	out := make(banalysis.TokenStream, 0, len(in))
	for _, t := range in {
		out = append(out, t)
		if t.Type != banalysis.AlphaNumeric || !bytes.ContainsFunc(t.Term, joint) {
			continue
		}
		at := 0
		for _, word := range bytes.FieldsFunc(t.Term, joint) {
			n := at + bytes.Index(t.Term[at:], word)
			at = n + len(word)
			if len(word) == len(t.Term) {
				continue
			}
			p := *t
			p.Term = bytes.Clone(word)
			p.Start, p.End = t.Start+n, t.Start+at
			out = append(out, &p)
		}
	}
	return out
}

func joint(r rune) bool { return r == '.' || r == ':' || r == '_' }
