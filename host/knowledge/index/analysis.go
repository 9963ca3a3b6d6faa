package index

import (
	"bytes"

	banalysis "github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"

	"github.com/bulkhead-host/bulkhead/host/text/fold"
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

// analysis turns text into terms: Unicode words, folded as package fold does,
// English possessives cut; names such as http.Handler whole and in parts; text in
// scripts without spaces as single characters and pairs, Korean words in pairs too;
// each as it stands and with its English suffix stemmed. It is safe for concurrent
// use.
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
		words: unspaced{unicode.NewUnicodeTokenizer()},
		common: []banalysis.TokenFilter{
			parts{},
			en.NewPossessiveFilter(),
			cjk.NewCJKBigramFilter(true),
			syllables{},
		},
		stem:    porter.NewPorterStemmer(),
		stopped: stopped,
	}
}

// both returns the terms of text as they stand and stemmed, one for one. Their
// places are those in text, not in its folded form.
func (a analysis) both(text []byte) (exact, stemmed banalysis.TokenStream) {
	folded := fold.Of(text)
	all := a.words.Tokenize(folded.Folded)
	for _, f := range a.common {
		all = f.Filter(all)
	}
	exact = all[:0]
	for _, t := range all {
		if len(t.Term) > 0 && len(t.Term) <= maxTerm {
			t.Start, t.End = folded.Span(t.Start, t.End)
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
