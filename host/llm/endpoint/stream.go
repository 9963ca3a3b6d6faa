package endpoint

import (
	"context"
	"iter"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// Stream makes the sequence of llm.Model.Stream of a function that emits events:
// it ends with run's error, with ctx.Err() after a cancelled ctx, and silently with
// ErrLeft, which run returns once emit returned false.
func Stream(ctx context.Context, run func(emit func(llm.Event) bool) error) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		err := ctx.Err()
		if err == nil {
			err = run(func(ev llm.Event) bool { return yield(ev, nil) })
		}
		if err == nil || err == ErrLeft {
			return
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		yield(nil, err)
	}
}
