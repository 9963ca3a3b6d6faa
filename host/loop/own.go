package loop

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

// ownTool is a tool of the loop's own. It works on the state of one run of the loop,
// has no capability and no effect outside of it.
type ownTool struct {
	spec tool.Spec
	call func(context.Context, tool.Invocation) (tool.Result, error)
}

var _ tool.Tool = ownTool{}

// Spec implements tool.Tool.
func (t ownTool) Spec() tool.Spec { return t.spec }

// Call implements tool.Tool.
func (t ownTool) Call(ctx context.Context, in tool.Invocation) (tool.Result, error) {
	return t.call(ctx, in)
}

// own makes the loop's tools. While calls of them run the history does not change.
func (l *runner) own() []tool.Tool {
	own := []tool.Tool{
		ownTool{recallSpec, l.recall}, ownTool{l.findSpec(), l.find}, ownTool{thinkSpec, l.noThought},
	}
	if l.researches() {
		own = append(own, ownTool{l.researchSpec(), l.research})
	}
	return own
}

// arguments reads the arguments of a tool of the loop's own. The runner has checked
// them against the schema.
func arguments[T any](in tool.Invocation) (T, error) {
	var args T
	err := json.Unmarshal(in.Arguments, &args)
	return args, err
}

// wrong is a failure because of what the model asked for. It reads the sentence too.
func wrong(format string, args ...any) tool.Result {
	sentence := fmt.Sprintf(format, args...)
	return tool.Fail(tool.FailureInput, sentence, sentence)
}

// noThought answers a call of think that holds no thought; the others are shown as
// reasoning and never get here.
func (*runner) noThought(context.Context, tool.Invocation) (tool.Result, error) {
	return wrong(`There was no thought in it. Write one, or go on, for example {"thought": "First I need the date."}.`),
		nil
}
