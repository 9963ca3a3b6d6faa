package salvage

import "strings"

// maxSpace is how much whitespace is held because a marker may follow it.
const maxSpace = 4096

// release is the way out of the parser: it makes the events.
type release struct {
	out []Event
	// slots hold the texts of the events, so that text costs no allocation.
	slots [16]delta
	used  int

	// space is the whitespace behind the last text. It goes out with the next
	// text, and not at all before a call at the end.
	space    []string
	spaceLen int
	// over says that the run of whitespace is too long to hold.
	over bool
	// blank says that the text that went out last ended with a blank.
	blank bool
	// visible says that text has gone out.
	visible bool
	// last is the last call, if nothing came after it, and repeats is how often it
	// was repeated.
	last    Call
	repeats int
	// waiting are the ids under which repetitions were told of.
	waiting []int
}

func (r *release) begin() {
	r.out, r.used = r.out[:0], 0
}

func (r *release) slot(s string) *delta {
	if r.used == len(r.slots) {
		return &delta{s}
	}
	d := &r.slots[r.used]
	r.used++
	d.Delta = s
	return d
}

// say releases text. Line ends at its end wait for what follows, as does all
// whitespace before any text: before a call nobody misses them.
func (r *release) say(s string) {
	text := s
	if tail := trimmedRight(s); tail < len(s) {
		text = s[:r.kept(s, tail)]
	}
	if text != "" {
		r.endRun()
		r.flushSpace()
		r.over = false
		r.visible = r.visible || trimmedRight(text) > 0
		r.blank = blank(text[len(text)-1])
		r.out = append(r.out, Text{r.slot(text)})
	}
	held := s[len(text):]
	if held == "" {
		return
	}
	r.space = append(r.space, held)
	r.spaceLen += len(held)
	if r.over || r.spaceLen > maxSpace {
		r.flushSpace()
		r.over = true
	}
}

// trimmedRight returns the length of s without the whitespace at its end.
func trimmedRight(s string) int {
	n := len(s)
	for n > 0 && blank(s[n-1]) {
		n--
	}
	return n
}

// kept returns how much of s goes out at once, where whitespace begins at tail.
func (r *release) kept(s string, tail int) int {
	if tail == 0 && (!r.visible || len(r.space) > 0 || r.over) {
		return 0
	}
	if n := strings.IndexByte(s[tail:], '\n'); n >= 0 {
		return tail + n
	}
	return len(s)
}

func (r *release) flushSpace() {
	for _, s := range r.space {
		r.out = append(r.out, Text{r.slot(s)})
	}
	r.dropSpace()
}

func (r *release) dropSpace() {
	r.space, r.spaceLen = r.space[:0], 0
}

func (r *release) reason(s string) {
	if s != "" {
		r.endRun()
		r.out = append(r.out, Reasoning{r.slot(s)})
	}
}

func (r *release) emitCall(c Call) {
	r.endRun()
	r.out = append(r.out, c)
	r.last, r.repeats = c, 0
}

// emitBlock emits a call that has a block of its own. The same block twice in a row
// is meant so. Three times and more is a model that does not stop: one is enough.
// The second therefore waits for what comes next.
func (r *release) emitBlock(c Call) {
	if c.Name == r.last.Name && c.Arguments == r.last.Arguments {
		r.repeats++
		if c.ID != 0 {
			r.waiting = append(r.waiting, c.ID)
		}
		return
	}
	r.emitCall(c)
}

// endRun emits the repetition that waited, unless there were more of them.
func (r *release) endRun() {
	if r.repeats == 1 {
		again := r.last
		again.ID = 0
		if len(r.waiting) > 0 {
			again.ID = r.waiting[0]
			r.waiting = r.waiting[1:]
		}
		r.out = append(r.out, again)
	}
	for _, id := range r.waiting {
		r.out = append(r.out, CallDropped{ID: id})
	}
	r.last, r.repeats, r.waiting = Call{}, 0, nil
}

func (r *release) malformed(raw string) {
	if len(raw) > MaxRawBytes {
		raw = strings.ToValidUTF8(raw[:MaxRawBytes], "")
	}
	r.out = append(r.out, Malformed{Raw: raw})
}

func (r *release) notice(code NoticeCode) { r.out = append(r.out, Notice{Code: code}) }
