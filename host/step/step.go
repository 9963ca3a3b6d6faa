// Package step is the innermost loop: one streamed response of a model, split
// into reasoning, answer text and tool calls. The model's events come in, packets
// go out as they come, and at the end the step returns what the model said and
// asked for.
//
// It does not know the loop that asks again, tools' implementations or storage.
package step

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// MaxBytes is the most that a model may say in one step, in bytes of text,
// reasoning and tool calls together. No model's window holds as much; a server
// that never ends would fill memory and disk.
const MaxBytes = 8 << 20

// Input is what one step needs.
type Input struct {
	Model   llm.Model
	Request llm.Request
	Emit    packet.Emitter
	// Turn is the first turn_index that the step may use.
	Turn int
	// Answer numbers the citations of the whole answer.
	Answer *cite.Answer
	// Continues says that the answer has text from an earlier step: the next block
	// of text then begins with a blank line, so that the joined text reads well.
	Continues bool
	// Unbroken says that the text goes on with an earlier one that ended anywhere:
	// blanks at its start are kept.
	Unbroken bool
	// ReasoningOpen says that the model's prompt opens its reasoning.
	ReasoningOpen bool
	// Blocks shows calls before they are complete; nil where none are to be shown.
	Blocks Blocks
	// Now is the clock.
	Now func() time.Time
}

// Call is a tool call that the model asked for.
type Call struct {
	Name string
	// Arguments is the JSON text as the model wrote it; it need not be valid.
	Arguments string
	// Inexact says that the text of the call had to be mended to be read.
	Inexact bool
	// ID is the id under which its block is open already, "" if none is.
	ID string
	// Tab is the tab_index of its block, from 0, in the order in which calls began.
	Tab int
}

// Output is what came of a step. After an error it holds what came before it.
type Output struct {
	// NextTurn is the first turn_index that is free.
	NextTurn int
	// CallTurn is the turn_index in which Calls are to run.
	CallTurn int
	// Text is the answer text as the model wrote it, with refs in its markers.
	Text string
	// Shown is the same text as it went out in message_delta packets.
	Shown     string
	Reasoning string
	// Calls are in the order in which the model began them, at most MaxCalls. After
	// an error none of their blocks is open.
	Calls []Call
	// Excess counts the calls beyond MaxCalls.
	Excess int
	// Malformed counts pieces of markup that were meant as calls and could not be
	// read.
	Malformed int
	// ReasoningOpen says that the model closed reasoning which it had not opened:
	// its prompt opens it, and the next step should know.
	ReasoningOpen bool
	Usage         llm.Usage
	// Native is what the provider wants to see again, nil for none. It belongs to
	// this step's message in the history.
	Native *llm.Native
	// ServerTools are the tools that the provider itself ran.
	ServerTools []llm.ServerTool
	// Finish is why the model stopped, "" after an error.
	Finish llm.FinishReason
}

// Decode asks the model and emits its answer. It closes every block it opened
// before it returns. A model that says more than MaxBytes is ended. The error is
// ctx.Err() after a cancellation, else an *llm.Error.
func Decode(ctx context.Context, in Input) (Output, error) {
	d := &decoder{in: in, turn: in.Turn, callTurn: -1, beyond: map[int]bool{}, parser: salvage.New(in.salvageOptions())}
	err := d.read(ctx)
	d.finish(err)
	return d.output(), err
}

type block int

const (
	noBlock block = iota
	reasoningBlock
	messageBlock
)

// decoder is the state of one step.
type decoder struct {
	in     Input
	parser *salvage.Parser

	// turn is the place of the open block, or of the next one.
	turn  int
	block block
	// started is when the open reasoning block began.
	started time.Time
	cites   *cite.Stream
	// blank is whitespace that came before any text of a block; it is shown only
	// when text follows in the same block.
	blank string
	// lead is what the next text shown begins with.
	lead string

	// bytes is how much the model has said.
	bytes int
	// heard are the calls, tabs counts them, and excess counts those beyond
	// MaxCalls.
	heard        []*heard
	tabs, excess int
	// beyond are the indexes of native calls beyond MaxCalls.
	beyond map[int]bool
	// callTurn is the turn of the calls' blocks once one is open, else -1.
	callTurn  int
	text      strings.Builder
	shown     strings.Builder
	reasoning strings.Builder
	malformed int
	// refusing says that the model declines.
	refusing bool
	// loneCloser says that reasoning was closed which nothing had opened.
	loneCloser bool
	usage      *llm.Usage
	replay     *llm.Native
	ran        []llm.ServerTool
	finished   llm.FinishReason
}

func (d *decoder) read(ctx context.Context) error {
	for event, err := range d.in.Model.Stream(ctx, d.in.Request) {
		if err != nil {
			return err
		}
		if d.bytes += size(event); d.bytes > MaxBytes {
			return llm.NewError(packet.CodeModelBadResponse,
				"The model did not stop writing and was ended. What arrived is saved.", errTooMuch)
		}
		d.take(event)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.finished == "" {
		return llm.NewError(packet.CodeModelInterrupted, "", errNoFinish)
	}
	return nil
}

var (
	errNoFinish = errors.New("the stream ended without a finish")
	errTooMuch  = fmt.Errorf("the stream went beyond %d bytes", MaxBytes)
)

// callBytes is what a piece of a tool call counts beside its text: each call has
// its cost, however short it is.
const callBytes = 64

// size is what an event counts, in bytes.
func size(event llm.Event) int {
	switch e := event.(type) {
	case llm.Text:
		return len(e.Delta)
	case llm.Refusal:
		return len(e.Delta)
	case llm.Reasoning:
		return len(e.Delta)
	case llm.ToolCallDelta:
		return callBytes + len(e.Name) + len(e.ArgumentsDelta)
	case llm.Native:
		return len(e.Data)
	case llm.ServerTool:
		return callBytes + len(e.Name) + len(e.Query)
	}
	return 0
}

func (d *decoder) take(event llm.Event) {
	switch e := event.(type) {
	case llm.Text:
		d.parsed(d.parser.Write(e.Delta))
	case llm.Refusal: // a person reads the model's own words
		if !d.refusing && d.text.Len() > 0 {
			d.parsed(d.parser.Write("\n\n"))
		}
		d.refusing = true
		d.parsed(d.parser.Write(e.Delta))
	case llm.Reasoning:
		d.think(e.Delta)
	case llm.ToolCallDelta:
		d.callDelta(e)
	case llm.Usage:
		d.usage = &e
	case llm.Native:
		d.replay = &e
	case llm.ServerTool:
		d.served(e)
	case llm.Finish:
		d.finished = e.Reason
	}
}

func (d *decoder) parsed(events []salvage.Event) {
	for _, event := range events {
		switch e := event.(type) {
		case salvage.Text:
			d.say(e.Delta)
		case salvage.Reasoning:
			d.think(e.Delta)
		case salvage.CallStart:
			d.textCallStarts(e)
		case salvage.ArgumentDelta:
			if c := d.textCall(e.ID); c != nil {
				d.showArguments(c, e)
			}
		case salvage.Call:
			d.textCallIs(e)
		case salvage.CallDropped:
			d.textCallIsNone(e)
		case salvage.Malformed:
			d.malformed++
		case salvage.Notice:
			d.loneCloser = d.loneCloser || e.Code == salvage.NoticeLoneCloser
		}
	}
}

func (d *decoder) think(delta string) {
	if delta == "" {
		return
	}
	if d.block != reasoningBlock {
		if strings.TrimSpace(delta) == "" {
			return
		}
		d.close()
		d.block, d.started = reasoningBlock, d.in.Now()
		d.emit(packet.ReasoningStart{})
	}
	d.reasoning.WriteString(delta)
	d.emit(packet.ReasoningDelta{Reasoning: delta})
}

func (d *decoder) say(delta string) {
	if d.block != messageBlock {
		if d.blank += delta; strings.TrimSpace(d.blank) == "" {
			return
		}
		delta = d.blank
		if !d.in.Unbroken || d.shown.Len() > 0 {
			delta = strings.TrimLeft(delta, " \t\r\n")
		}
		d.blank = ""
		d.close()
		d.block, d.cites = messageBlock, d.in.Answer.Stream()
		if d.in.Continues || d.shown.Len() > 0 {
			d.lead = "\n\n"
		}
		d.emit(packet.MessageStart{})
	}
	d.text.WriteString(delta)
	d.show(d.cites.Write(delta))
}

func (d *decoder) show(piece cite.Piece) {
	for _, info := range piece.New {
		d.emit(info)
	}
	if piece.Text == "" {
		return
	}
	content := d.lead + piece.Text
	d.lead = ""
	d.shown.WriteString(content)
	d.emit(packet.MessageDelta{Content: content})
}

// close ends the open block, if there is one, and moves to the next turn.
func (d *decoder) close() {
	switch d.block {
	case noBlock:
		return
	case reasoningBlock:
		d.emit(packet.ReasoningDone{DurationMS: d.in.Now().Sub(d.started).Milliseconds()})
	case messageBlock:
		d.show(d.cites.Close())
		d.emit(packet.MessageEnd{})
	}
	d.block = noBlock
	d.turn++
}

// finish takes what the parser held, closes the open block and reports the usage
// at the step's last place.
func (d *decoder) finish(err error) {
	d.parsed(d.parser.Close())
	d.close()
	if err == nil {
		d.takeDrafts()
	}
	d.settle(outcomeOf(err))
	if d.usage != nil {
		last := max(d.in.Turn, d.turn-1)
		d.in.Emit.Emit(packet.At(last, 0), packet.Usage{
			InputTokens: d.usage.InputTokens, OutputTokens: d.usage.OutputTokens,
			CachedTokens: d.usage.CachedTokens, Cost: d.usage.Cost,
		})
	}
}

// outcomeOf is how blocks of calls end that a failed step leaves open.
func outcomeOf(err error) packet.Outcome {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return packet.OutcomeCancelled
	}
	return packet.OutcomeInterrupted
}

func (d *decoder) emit(obj packet.Obj) { d.in.Emit.Emit(packet.At(d.turn, 0), obj) }

func (d *decoder) output() Output {
	out := Output{
		NextTurn: d.turn, CallTurn: d.turnOfCalls(), Excess: d.excess, Text: d.text.String(), Shown: d.shown.String(),
		Reasoning: d.reasoning.String(),
		Native:    d.replay, ServerTools: d.ran,
		Malformed: d.malformed, ReasoningOpen: d.in.ReasoningOpen || d.loneCloser, Finish: d.finished,
	}
	if d.usage != nil {
		out.Usage = *d.usage
	}
	out.Calls = d.calls()
	return out
}
