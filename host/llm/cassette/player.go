package cassette

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Player is the server of a cassette: it gives its replies one after another to
// whatever is posted. It is safe for concurrent use.
type Player struct {
	cassette *Cassette
	// CutAt ends the body of every reply after so many bytes, -1 for never; Hard
	// breaks the connection there. They must not be changed while it serves.
	CutAt int
	Hard  bool
	// Hold, where it is not nil, keeps a reply open at CutAt until the client leaves,
	// and from before its first header where CutAt is 0. The player closes Held when it
	// has sent what it sends, and Left when the client has left; a client that has enough
	// may leave before, and then Held stays open.
	Hold *Hold

	mu   sync.Mutex // guards what follows
	next int
	sent [][]byte
}

// NewPlayer returns a player at the beginning of a cassette.
func NewPlayer(c *Cassette) *Player { return &Player{cassette: c, CutAt: -1} }

// Sent returns the bodies that were posted so far, oldest first.
func (p *Player) Sent() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

// ServeHTTP implements http.Handler.
func (p *Player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/api/show") {
		p.facts(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	reply, ok := p.take(body)
	if !ok {
		http.Error(w, `{"error":{"message":"the cassette has no reply left"}}`, http.StatusInternalServerError)
		return
	}
	p.give(w, r, reply)
}

func (p *Player) facts(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if p.cassette.Facts == nil {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"message":"nothing is known"}}`) // the client left
		return
	}
	_, _ = w.Write(p.cassette.Facts) // the client left
}

// take records a body and takes the next reply.
func (p *Player) take(body []byte) (Reply, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, body)
	if p.next >= len(p.cassette.Replies) {
		return Reply{}, false
	}
	p.next++
	return p.cassette.Replies[p.next-1], true
}

// Hold tells of a reply that is kept open; it is for one reply.
type Hold struct{ Held, Left chan struct{} }

// NewHold returns a hold whose channels are open.
func NewHold() *Hold { return &Hold{make(chan struct{}), make(chan struct{})} }

// wait waits until the client leaves. A nil Hold does not wait.
func (h *Hold) wait(r *http.Request) {
	if h == nil {
		return
	}
	close(h.Held)
	<-r.Context().Done()
}

// leave tells that the reply is over, whoever ended it. A nil Hold tells nobody.
func (h *Hold) leave() {
	if h != nil {
		close(h.Left)
	}
}

// give writes a reply.
func (p *Player) give(w http.ResponseWriter, r *http.Request, reply Reply) {
	defer p.Hold.leave()
	if p.Hold != nil && p.CutAt == 0 {
		p.Hold.wait(r)
		return
	}
	for name, values := range reply.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(reply.Status)
	body, cut := reply.Body, p.CutAt >= 0 && p.CutAt < len(reply.Body)
	if cut {
		body = body[:p.CutAt]
	}
	control := http.NewResponseController(w)
	// One flush for each event, as servers do.
	for _, event := range strings.SplitAfter(string(body), "\n\n") {
		if _, err := io.WriteString(w, event); err != nil {
			return // the client left
		}
		if control.Flush() != nil {
			return
		}
	}
	if cut {
		p.Hold.wait(r)
	}
	if cut && p.Hard {
		panic(http.ErrAbortHandler) // breaks the connection, as a crashed server does
	}
}

// Pretty writes JSON with sorted keys, indented, for reading. What is no JSON
// stays as it is.
func Pretty(data []byte) string {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return string(data) + "\n"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(v) != nil { // what was decoded encodes
		return string(data) + "\n"
	}
	return b.String()
}
