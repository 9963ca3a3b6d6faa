package gate

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"sync"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// The bounds of a batch.
const (
	// MaxBatch is how many entries one batch may have.
	MaxBatch = 32
	// batchWidth is how many of them are served at once.
	batchWidth = 10
)

// batchArgs is what a function with Function.Batch takes, batchResult what it
// gives: for each request, in order, what the single function would have given.
type batchArgs struct {
	Requests []json.RawMessage `json:"requests"`
}

type batchResult struct {
	Results []json.RawMessage `json:"results"`
}

// serveBatch serves each entry as a host call of its own: decided, recorded and
// counted one by one, run side by side.
func (c *Call) serveBatch(ctx context.Context, cp capability.Capability, f Function, in []byte) []byte {
	args, err := batchOf(in)
	if err != nil {
		c.begin()
		out, outcome := block(nil, err)
		c.note(HostCall{Capability: cp.Name, Decision: capability.Deny, Outcome: outcome, Bytes: int64(len(out))})
		return out
	}
	blocks := make([]json.RawMessage, len(args.Requests))
	calls := make([]HostCall, len(args.Requests))
	places := make(chan struct{}, batchWidth)
	var wait sync.WaitGroup
	for i, request := range args.Requests {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			blocks[i], calls[i] = c.guarded(ctx, cp, f.Batch, request)
		})
	}
	wait.Wait()
	for _, h := range calls {
		c.note(h)
	}
	out, _ := block(batchResult{blocks}, nil)
	return out
}

func batchOf(in []byte) (batchArgs, error) {
	if len(in) > MaxArgs {
		return batchArgs{}, tooLong(in)
	}
	if err := wellFormed(in); err != nil {
		return batchArgs{}, err
	}
	args, err := decode[batchArgs](in)
	if err != nil {
		return batchArgs{}, Errorf(Invalid, "The arguments are wrong: %v.", err)
	}
	if len(args.Requests) == 0 || len(args.Requests) > MaxBatch {
		return batchArgs{}, Errorf(Invalid, "A batch has 1 to %d requests, not %d.", MaxBatch, len(args.Requests))
	}
	return args, nil
}

// guarded is attempt on a goroutine of its own, where nobody else would catch a
// panic.
func (c *Call) guarded(ctx context.Context, cp capability.Capability, name string, in []byte) (out []byte, h HostCall) {
	defer func() {
		if p := recover(); p != nil {
			c.gate.config.Logger.Error("a host call panicked",
				"function", name, "panic", p, "stack", string(debug.Stack()))
			out, _ = block(nil, Errorf(Failed, "The host could not serve %s.", name))
			h = HostCall{Capability: cp.Name, Decision: capability.Deny, Outcome: string(Failed)}
		}
	}()
	return c.attempt(ctx, cp, name, in)
}
