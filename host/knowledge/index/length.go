package index

// lengths counts terms: of each searched field, and last of the exact field,
// which holds them all unstemmed. bleve's own average length counts distinct
// terms of the whole index, which BM25 does not mean.
type lengths [fields + 1]int64

func (l *lengths) add(o lengths) {
	for i := range l {
		l[i] += o[i]
	}
}

// count sums the lengths of all documents; Open calls it once.
func (x *Index) count() error {
	ids, err := x.IDs()
	if err != nil {
		return err
	}
	x.totals = lengths{}
	for _, id := range ids {
		e, _, err := x.entry(id)
		if err != nil {
			return err
		}
		x.totals.add(e.Lengths)
	}
	return nil
}

// change replaces a document's lengths in the totals.
func (x *Index) change(old, now lengths) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range x.totals {
		x.totals[i] += now[i] - old[i]
	}
}

// averages returns the mean length of each field over n passages, at least 1.
func (x *Index) averages(n uint64) (avg [fields + 1]float64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i, total := range x.totals {
		avg[i] = max(1, float64(total)/float64(max(n, 1)))
	}
	return avg
}
