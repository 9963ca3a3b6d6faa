package loop

import (
	"encoding/json"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/step"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
)

// freeThoughts is how many steps of an answer may do nothing but think and cost no
// cycle.
const freeThoughts = 3

var thinkSpec = tool.Spec{
	ID:    tool.OwnID(tool.Think),
	Name:  tool.Think,
	Title: "Think",
	Description: "A place to think before you go on: weigh what you know, plan the next calls, check a result. It " +
		"looks nothing up and changes nothing. " +
		"Use it for what takes several steps, not for a simple question.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"thought":{"type":"string"}},"required":["thought"]}`),
}

// noted is what the model gets for a thought.
const noted = "Noted. Go on."

// thought reads a call of think, false for any other call and for one without a
// thought, which then runs as any call and fails as such.
func thought(c step.Call) (string, bool) {
	var args struct{ Thought string }
	if c.Name != tool.Think || json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return "", false
	}
	return args.Thought, strings.TrimSpace(args.Thought) != ""
}

// think shows the thoughts among the calls of a step as reasoning, each in a turn of
// its own, and returns them as done with the calls that are left to run.
func (l *runner) think(calls []step.Call) (done []toolrun.Done, rest []step.Call) {
	for _, c := range calls {
		text, ok := thought(c)
		if !ok {
			rest = append(rest, c)
			continue
		}
		at := packet.At(l.turn, 0)
		l.Emit.Emit(at, packet.ReasoningStart{})
		l.Emit.Emit(at, packet.ReasoningDelta{Reasoning: text})
		l.Emit.Emit(at, packet.ReasoningDone{})
		l.turn++
		done = append(done, toolrun.Done{CallID: l.Runner.NewCallID(), Name: c.Name, Arguments: c.Arguments,
			Text: noted, Outcome: packet.OutcomeOK})
	}
	return done, rest
}

// onlyThought tells whether a step did nothing but think and costs no cycle.
func (l *runner) onlyThought(calls []step.Call) bool {
	for _, c := range calls {
		if _, ok := thought(c); !ok {
			return false
		}
	}
	l.thoughts++
	return l.thoughts <= freeThoughts
}
