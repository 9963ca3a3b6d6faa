package index

import (
	"context"
	"errors"
	"math"

	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	bindex "github.com/blevesearch/bleve_index_api"
)

// The parameters of BM25F (Robertson and Zaragoza, "The Probabilistic Relevance
// Framework: BM25 and Beyond", 2009): a term's frequencies in the fields are
// normalised by each field's length, weighted and summed before they saturate.
const (
	k1          = 1.6
	exactWeight = 0.2 // of a term's score as it stands, beside its stem's
)

var (
	weight = [fields]float64{title: 2.0, section: 1.5, content: 1.0}
	norm   = [fields]float64{title: 0.3, section: 0.3, content: 0.75} // BM25's b
)

// ranking is a bleve query: the owner's passages with any of the terms.
type ranking struct {
	owner string
	terms []term
	avg   func(passages uint64) [fields + 1]float64
}

// Searcher implements query.Query.
func (q *ranking) Searcher(
	ctx context.Context, r bindex.IndexReader, _ mapping.IndexMapping, _ search.SearcherOptions,
) (search.Searcher, error) {
	n, err := r.DocCount()
	if err != nil {
		return nil, err
	}
	avg := q.avg(n)
	s := &searcher{}
	open := func(field, word string, score bool) (*posting, error) {
		reader, err := r.TermFieldReader(ctx, []byte(word), field, score, score, false)
		if err != nil {
			return nil, err
		}
		p := &posting{reader: reader}
		s.all = append(s.all, p)
		return p, nil
	}
	if s.owner, err = open(fieldOwner, q.owner, false); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for _, t := range q.terms {
		var group clause
		for f, name := range fieldNames {
			p, err := open(name, t.stemmed, true)
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
			p.weight, p.b, p.avg = weight[f], norm[f], avg[f]
			group.postings = append(group.postings, p)
		}
		group.idf = 1
		s.clauses = append(s.clauses, group)
		p, err := open(fieldExact, t.exact, true)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		p.weight, p.b, p.avg = 1, norm[content], avg[fields]
		s.clauses = append(s.clauses, clause{postings: []*posting{p}, idf: exactWeight})
	}
	for i := range s.clauses {
		// How many passages have the term is known per field only; the largest
		// field's number stands for all.
		var df uint64
		for _, p := range s.clauses[i].postings {
			df = max(df, p.reader.Count())
		}
		s.clauses[i].idf *= math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
	}
	return s, nil
}

// clause is one term in some fields.
type clause struct {
	postings []*posting
	idf      float64
}

// posting walks the passages that have a term in a field.
type posting struct {
	reader         bindex.TermFieldReader
	weight, b, avg float64
	room           bindex.TermFieldDoc
	at             *bindex.TermFieldDoc // nil before the first and after the last
}

func (p *posting) next() (err error) {
	p.at, err = p.reader.Next(p.room.Reset())
	return err
}

// seek moves to id or what follows it.
func (p *posting) seek(id bindex.IndexInternalID) (err error) {
	if p.at != nil && p.at.ID.Compare(id) < 0 {
		p.at, err = p.reader.Advance(id, p.room.Reset())
	}
	return err
}

// frequency is the term's weighted and normalised frequency in the passage.
func (p *posting) frequency() float64 {
	length := p.avg
	if p.at.Norm > 0 {
		length = 1 / (p.at.Norm * p.at.Norm)
	}
	return p.weight * float64(p.at.Freq) / (1 - p.b + p.b*length/p.avg)
}

// searcher merges postings in the order of passages.
type searcher struct {
	owner   *posting
	clauses []clause
	all     []*posting
	started bool
}

func (s *searcher) start() error {
	if s.started {
		return nil
	}
	s.started = true
	for _, p := range s.all {
		if err := p.next(); err != nil {
			return err
		}
	}
	return nil
}

// Next returns the next passage of the owner with any term, scored.
func (s *searcher) Next(ctx *search.SearchContext) (*search.DocumentMatch, error) {
	if err := s.start(); err != nil {
		return nil, err
	}
	for {
		id := s.lowest()
		if id == nil || s.owner.at == nil {
			return nil, nil
		}
		if err := s.owner.seek(id); err != nil || s.owner.at == nil {
			return nil, err
		}
		if c := s.owner.at.ID.Compare(id); c > 0 {
			// Not the owner's: never scored, never seen.
			if err := s.seek(s.owner.at.ID); err != nil {
				return nil, err
			}
			continue
		}
		match := ctx.DocumentMatchPool.Get()
		match.IndexInternalID = bindex.NewIndexInternalIDFrom(match.IndexInternalID, id)
		match.Score = s.score(match.IndexInternalID)
		return match, s.pass(match.IndexInternalID)
	}
}

// Advance moves to id or what follows it.
func (s *searcher) Advance(ctx *search.SearchContext, id bindex.IndexInternalID) (*search.DocumentMatch, error) {
	if err := s.start(); err != nil {
		return nil, err
	}
	if err := s.seek(id); err != nil {
		return nil, err
	}
	return s.Next(ctx)
}

// lowest is the first passage that any term stands at.
func (s *searcher) lowest() bindex.IndexInternalID {
	var id bindex.IndexInternalID
	for _, c := range s.clauses {
		for _, p := range c.postings {
			if p.at != nil && (id == nil || p.at.ID.Compare(id) < 0) {
				id = p.at.ID
			}
		}
	}
	return id
}

func (s *searcher) seek(id bindex.IndexInternalID) error {
	for _, c := range s.clauses {
		for _, p := range c.postings {
			if err := p.seek(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// pass moves every posting that stands at id on.
func (s *searcher) pass(id bindex.IndexInternalID) error {
	for _, c := range s.clauses {
		for _, p := range c.postings {
			if p.at != nil && p.at.ID.Equals(id) {
				if err := p.next(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *searcher) score(id bindex.IndexInternalID) float64 {
	var sum float64
	for _, c := range s.clauses {
		var f float64
		for _, p := range c.postings {
			if p.at != nil && p.at.ID.Equals(id) {
				f += p.frequency()
			}
		}
		sum += c.idf * f * (k1 + 1) / (f + k1)
	}
	return sum
}

// Close closes all postings.
func (s *searcher) Close() error {
	var errs []error
	for _, p := range s.all {
		errs = append(errs, p.reader.Close())
	}
	return errors.Join(errs...)
}

// Weight and SetQueryNorm are of bleve's own scoring, which is not used.
func (s *searcher) Weight() float64 { return 1 }

// SetQueryNorm does nothing; see Weight.
func (s *searcher) SetQueryNorm(float64) {}

// Count is an upper bound of the passages that match.
func (s *searcher) Count() uint64 {
	var n uint64
	for _, p := range s.all[1:] {
		n += p.reader.Count()
	}
	return min(n, s.owner.reader.Count())
}

// Min is 0: no number of clauses has to match.
func (s *searcher) Min() int { return 0 }

// Size is the memory of the postings in bytes.
func (s *searcher) Size() int {
	n := 0
	for _, p := range s.all {
		n += p.reader.Size()
	}
	return n
}

// DocumentMatchPoolSize is how many matches are held at once.
func (s *searcher) DocumentMatchPoolSize() int { return 1 }
