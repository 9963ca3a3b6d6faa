package toolrun

import (
	"sync"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// report passes on what a running call shows, until the call is over.
type report struct {
	call *call
	// mu guards closed, and keeps a late packet from following the section_end.
	mu     sync.Mutex
	closed bool
}

var (
	_ tool.Reporter       = (*report)(nil)
	_ tool.MemoryReporter = (*report)(nil)
)

func (r *report) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

func (r *report) emit(obj packet.Obj) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.call.emit(obj)
	}
}

// Progress implements tool.Reporter.
func (r *report) Progress(message string, fraction *float64) {
	r.emit(packet.ToolProgress{CallID: r.call.id, Message: message, Fraction: fraction})
}

// Output implements tool.Reporter. An unknown channel counts as text.
func (r *report) Output(channel, delta string) {
	c := packet.Channel(channel)
	switch c {
	case packet.ChannelStdout, packet.ChannelStderr, packet.ChannelMarkdown:
	default:
		c = packet.ChannelText
	}
	r.emit(packet.ToolOutput{CallID: r.call.id, Channel: c, Delta: delta})
}

// Documents implements tool.Reporter.
func (r *report) Documents(docs []tool.Document) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if kept := r.call.accept(docs); len(kept) > 0 {
		r.call.emit(packet.ToolDocuments{CallID: r.call.id, Documents: kept})
	}
}

// Memory implements tool.MemoryReporter.
func (r *report) Memory(operation, id, text string) {
	r.emit(packet.MemoryChanged{CallID: r.call.id, Operation: operation, MemoryID: id, Text: text})
}

// Files implements tool.Reporter.
func (r *report) Files(files []tool.File) {
	if len(files) > 0 {
		r.emit(packet.ToolFiles{CallID: r.call.id, Files: wireFiles(files)})
	}
}
