package hostfunc

import "sync"

// maxTurns is how many answers a ledger remembers.
const maxTurns = 1024

// ledger counts what was used in each of the last answers.
type ledger struct {
	mu    sync.Mutex // guards what follows
	spent map[string]int64
	// order has the keys of spent, oldest first.
	order []string
}

// take adds n for a key unless that passes limit.
func (l *ledger) take(key string, n, limit int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > limit-l.spent[key] {
		return false
	}
	if _, known := l.spent[key]; !known {
		if len(l.order) == maxTurns {
			delete(l.spent, l.order[0])
			l.order = l.order[1:]
		}
		if l.spent == nil {
			l.spent = map[string]int64{}
		}
		l.order = append(l.order, key)
	}
	l.spent[key] += n
	return true
}

// giveBack takes n off again; a negative n adds what was used beyond the
// estimate.
func (l *ledger) giveBack(key string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.spent[key]; known {
		l.spent[key] -= n
	}
}
