// Package packettest checks streams of packets against the invariants of the
// packet protocol, for the tests of whatever makes or carries packets.
//
// Packets of one run and one epoch come in, in the order in which a client gets
// them; violations come out, each with the number of the invariant, the seq
// that broke it and a sentence. Text and Blocks read a stream as a client does,
// for comparison with what is stored. The package knows nothing of who made the
// stream, and nothing of host but package packet.
//
// Payload types that package packet does not know are held to the rules of the
// envelope (numbering, placement, nothing after stop) and to nothing else.
package packettest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// The numbers of the invariants. RuleFields stands for what the tables of
// types and placement say beside the numbered list.
const (
	RuleFields     = 0  // fields, values and places as the tables give them
	RuleSeq        = 1  // seq without a gap, run_started first
	RuleTurnOrder  = 2  // opening packets never fall in turn_index
	RuleClosed     = 3  // each block closes once, in place, before the stop
	RuleReasoning  = 4  // reasoning closes first and moves the turn
	RuleCitation   = 5  // citation_info before its marker, once
	RuleToolBlock  = 6  // the order inside a tool block
	RuleNarration  = 7  // narration and call have different turns
	RuleStop       = 8  // nothing after a stop, the null stop last
	RuleStoredText = 9  // the deltas are the stored text
	RuleSameReplay = 10 // a replay has the same blocks
)

// Violation is one broken invariant.
type Violation struct {
	// Rule is one of the Rule constants, 0 to 10.
	Rule int
	// Seq is the packet at which it showed, 0 for an empty stream.
	Seq int64
	// Sentence says what is wrong.
	Sentence string
}

// String writes the violation on one line.
func (v Violation) String() string {
	return fmt.Sprintf("seq %d, rule %d: %s", v.Seq, v.Rule, v.Sentence)
}

// Option changes what is checked.
type Option func(*Checker)

// Running says that the stream has not ended: what is still open at the end,
// and the missing stops, are no violations.
func Running() Option { return func(c *Checker) { c.running = true } }

// Stored says which text is stored as the answer of a model, for rule 9.
func Stored(model int, text string) Option {
	return func(c *Checker) { c.stored[model] = text }
}

// GoesOn says that the stream goes on with an answer of an earlier run, in which n
// documents were cited: they are announced once more and need not be shown.
func GoesOn(n int) Option { return func(c *Checker) { c.before = n } }

// Checker checks one stream packet by packet. It is not safe for concurrent
// use.
type Checker struct {
	running bool
	stored  map[int]string
	// before is how many documents an earlier run of the answer cited.
	before int

	run   string
	epoch int64
	seq   int64
	// created and started tell that session_created and run_started were seen.
	created, started bool
	// ended tells that the null stop was seen.
	ended  bool
	models map[int]*model
	// calls maps each call_id seen to whether its block is open.
	calls map[string]bool
	found []Violation
}

// NewChecker returns a checker that has seen nothing.
func NewChecker(options ...Option) *Checker {
	c := &Checker{stored: map[int]string{}, models: map[int]*model{}, calls: map[string]bool{}}
	for _, option := range options {
		option(c)
	}
	return c
}

// Check returns the violations of a whole stream, nil for a good one.
func Check(packets []packet.Packet, options ...Option) []Violation {
	c := NewChecker(options...)
	for _, p := range packets {
		c.Add(p)
	}
	return c.Close()
}

// TB is the part of testing.TB that Require needs; rapid's T has it too.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Require fails the test when the stream breaks an invariant, and shows the
// stream.
func Require(t TB, packets []packet.Packet, options ...Option) {
	t.Helper()
	found := Check(packets, options...)
	if len(found) == 0 {
		return
	}
	var b strings.Builder
	for _, v := range found {
		fmt.Fprintln(&b, v)
	}
	t.Fatalf("the packets break the protocol:\n%s\nthe stream:\n%s", b.String(), Dump(packets))
}

// Dump writes a stream for a person, one packet a line.
func Dump(packets []packet.Packet) string {
	var b strings.Builder
	for _, p := range packets {
		obj, err := packet.EncodeObj(p.Obj)
		if err != nil {
			obj = []byte(err.Error())
		}
		fmt.Fprintf(&b, "%4d  %-12s %s\n", p.Seq, p.Placement.Key(), obj)
	}
	return b.String()
}

// Add checks the next packet and returns the violations that it shows.
func (c *Checker) Add(p packet.Packet) []Violation {
	before := len(c.found)
	c.envelope(p)
	if p.Obj == nil {
		c.fail(RuleFields, "the packet has no obj")
		return c.found[before:]
	}
	if c.ended {
		c.fail(RuleStop, "%s comes after the stop of the run", p.Obj.Type())
		return c.found[before:]
	}
	c.opening(p)
	if p.Placement.ModelIndex == nil {
		c.runPacket(p)
	} else {
		c.modelPacket(p)
	}
	return c.found[before:]
}

// Close checks what can be known only at the end and returns all violations of
// the stream.
func (c *Checker) Close() []Violation {
	if !c.running {
		for _, index := range slices.Sorted(maps.Keys(c.models)) {
			if m := c.models[index]; !m.stopped {
				c.fail(RuleStop, "model %d has no stop", index)
				c.requireClosed(m, "the end of the stream")
			}
		}
		if !c.ended {
			c.fail(RuleStop, "the stream ends without the stop of the run")
		}
	}
	for _, index := range slices.Sorted(maps.Keys(c.stored)) {
		var got string
		if m := c.models[index]; m != nil {
			got = m.text.String()
		}
		if want := c.stored[index]; got != want {
			c.fail(RuleStoredText, "the deltas of model %d join to %q, stored is %q", index, got, want)
		}
	}
	return c.found
}

// Violations returns what was found so far.
func (c *Checker) Violations() []Violation { return c.found }

func (c *Checker) fail(rule int, format string, args ...any) {
	c.found = append(c.found, Violation{Rule: rule, Seq: c.seq, Sentence: fmt.Sprintf(format, args...)})
}

// envelope checks numbering and the shape of the placement.
func (c *Checker) envelope(p packet.Packet) {
	if c.seq == 0 {
		c.run, c.epoch = p.Run, p.Epoch
		if p.Epoch < 1 {
			c.fail(RuleSeq, "epoch is %d, the first is 1", p.Epoch)
		}
	}
	want := c.seq + 1
	c.seq = p.Seq
	if p.Seq != want {
		c.fail(RuleSeq, "seq is %d, expected %d", p.Seq, want)
	}
	if p.Run != c.run || p.Epoch != c.epoch {
		c.fail(RuleSeq, "run %q epoch %d in the stream of run %q epoch %d", p.Run, p.Epoch, c.run, c.epoch)
	}
	key := p.Placement.Key()
	if key.Turn < 0 || key.Tab < 0 || key.SubTurn < -1 || key.SubTab < -1 || key.Model < -1 {
		c.fail(RuleFields, "the placement %s has a negative index", key)
	}
	if (p.Placement.SubTurnIndex == nil) != (p.Placement.SubTabIndex == nil) {
		c.fail(RuleFields, "sub_turn_index and sub_tab_index must be null together")
	}
}

// opening checks that session_created and run_started come first and once.
func (c *Checker) opening(p packet.Packet) {
	switch p.Obj.(type) {
	case packet.SessionCreated:
		if c.created || c.started {
			c.fail(RuleSeq, "session_created is not the first packet")
		}
		c.created = true
	case packet.RunStarted:
		if c.started {
			c.fail(RuleSeq, "a second run_started")
		}
	default:
		if !c.started {
			c.fail(RuleSeq, "%s comes before run_started", p.Obj.Type())
		}
	}
}

// runPacket takes a packet that belongs to no model.
func (c *Checker) runPacket(p packet.Packet) {
	switch obj := p.Obj.(type) {
	case packet.RunStarted:
		c.start(obj)
	case packet.Stop:
		c.end(obj)
	case packet.SessionCreated, packet.Notice, packet.Error, packet.Unknown:
	default:
		c.fail(RuleFields, "%s has no model_index", p.Obj.Type())
	}
}

func (c *Checker) start(obj packet.RunStarted) {
	if c.started {
		return
	}
	c.started = true
	if len(obj.Responses) == 0 {
		c.fail(RuleFields, "run_started names no response")
	}
	for _, r := range obj.Responses {
		if c.models[r.ModelIndex] != nil {
			c.fail(RuleFields, "run_started names model %d twice", r.ModelIndex)
			continue
		}
		c.models[r.ModelIndex] = newModel(r.ModelIndex)
	}
}

// end takes the null stop.
func (c *Checker) end(obj packet.Stop) {
	c.ended = true
	var reasons []packet.StopReason
	for _, index := range slices.Sorted(maps.Keys(c.models)) {
		m := c.models[index]
		if !m.stopped {
			c.fail(RuleStop, "the run stops before model %d", index)
			c.requireClosed(m, "the stop of the run")
			m.stopped = true
			continue
		}
		reasons = append(reasons, m.reason)
	}
	if want := packet.RunReason(reasons); len(reasons) == len(c.models) && obj.Reason != want {
		c.fail(RuleStop, "the run stops with %q, its models make it %q", obj.Reason, want)
	}
}
