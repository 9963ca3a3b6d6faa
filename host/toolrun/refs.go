package toolrun

import (
	"sync/atomic"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

// RefsPerCall is how many refs a call that may cite is dealt.
const RefsPerCall = 100

// Refs deals ranges of refs from one counter, so that parallel tools, models and
// nested agents need no lock. It is safe for concurrent use.
type Refs struct{ last atomic.Int64 }

// NewRefs returns refs that start above highest, the highest ref that the path
// of messages knows, 0 for none.
func NewRefs(highest int) *Refs {
	r := &Refs{}
	r.last.Store(int64(highest))
	return r
}

// Deal returns the next range of count refs.
func (r *Refs) Deal(count int) tool.Refs {
	end := r.last.Add(int64(count))
	return tool.Refs{Start: int(end) - count + 1, Count: count}
}
