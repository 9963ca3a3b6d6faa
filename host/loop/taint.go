package loop

import (
	"slices"
	"sync"

	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
)

// taint has the labels of what was read on the path that leads to a run of the loop, in
// this answer or before. What is on offer now plays no part in it. It is safe for
// concurrent use.
type taint struct {
	// outer is that of the loop in one of whose calls this one runs, nil at the top.
	outer *taint
	mu    sync.Mutex
	// labels are guarded by mu.
	labels []string
}

// add takes note of what calls brought in.
func (t *taint) add(done []toolrun.Done) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range done {
		t.labels = journal.Join(t.labels, d.Labels)
	}
}

// serve takes note that the model's provider ran a tool of its own, in this run of the
// loop and in those around it: what it brought in was written by strangers.
func (t *taint) serve() {
	for ; t != nil; t = t.outer {
		t.mu.Lock()
		t.labels = journal.Join(t.labels, []string{tool.LabelUntrustedContent})
		t.mu.Unlock()
	}
}

// has tells whether something with the label was read, in this run or those around it.
func (t *taint) has(label string) bool {
	for ; t != nil; t = t.outer {
		t.mu.Lock()
		has := slices.Contains(t.labels, label)
		t.mu.Unlock()
		if has {
			return true
		}
	}
	return false
}

// met are the labels that calls are told of.
func (t *taint) met() []string {
	var labels []string
	for _, label := range []string{tool.LabelPrivateData, tool.LabelUntrustedContent} {
		if t.has(label) {
			labels = append(labels, label)
		}
	}
	return labels
}
