package gate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// maxHostCalls bounds the list of HostCalls; calls beyond it are counted only.
const maxHostCalls = 1000

// maxRefusals is how many refusals of one tool call are recorded one by one.
const maxRefusals = 100

// HostCall is one thing that a tool call asked of the host.
type HostCall struct {
	Capability, Summary string
	// Decision is allow or deny as it came out.
	Decision capability.Mode
	// Outcome is ok or the kind of error.
	Outcome string
	// Bytes is how much the host handed back.
	Bytes int64
}

// Call is the gate's side of one tool call. It is safe for concurrent use.
type Call struct {
	CallInfo
	// Attachment is what was given to Gate.Open, for the functions.
	Attachment any

	gate *Gate

	// mu guards the fields below.
	mu    sync.Mutex
	calls []HostCall
	count int
	// refused counts the calls that were refused.
	refused int
	bytes   int64
	spent   map[string]int64
}

// Host returns the host function of a name: one block in, one block out. It is
// nil for a name that no capability has. The function panics never and denies in
// doubt.
func (c *Call) Host(name string) func(ctx context.Context, in []byte) []byte {
	cp, known := capability.ForFunction(name)
	if !known {
		return nil
	}
	return func(ctx context.Context, in []byte) []byte { return c.serve(ctx, cp, name, in) }
}

// HostCalls returns what was asked so far, in order, at most the first 1000.
func (c *Call) HostCalls() []HostCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]HostCall(nil), c.calls...)
}

// Close records the end of the tool call; outcome is ok or the kind of failure.
func (c *Call) Close(outcome string) error {
	c.mu.Lock()
	e := c.entry(audit.KindToolCall)
	e.Outcome, e.Calls, e.Bytes = outcome, c.count, c.bytes
	c.mu.Unlock()
	return c.gate.config.Audit.Record(e)
}

// Spend takes n from an amount that one tool call has of something, and returns
// an *Error of kind Quota when that would pass limit.
func (c *Call) Spend(what string, n, limit int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > limit-c.spent[what] {
		return Errorf(Quota, "This tool call may use %d bytes of %s; they are used up.", limit, what)
	}
	c.spent[what] += n
	return nil
}

func (c *Call) entry(kind audit.Kind) audit.Entry {
	return audit.Entry{
		Time: c.gate.config.Now(), Kind: kind, Plugin: c.Plugin, Version: c.Version, Tool: c.Tool,
		User: c.User, Session: c.Session, Run: c.Run, CallID: c.CallID,
	}
}

// serve runs one host call, or each of a batch, through all checks.
func (c *Call) serve(ctx context.Context, cp capability.Capability, name string, in []byte) []byte {
	if f := c.gate.functions[name]; f.Batch != "" {
		return c.serveBatch(ctx, cp, f, in)
	}
	out, h := c.attempt(ctx, cp, name, in)
	c.note(h)
	return out
}

// attempt runs one host call and says what came of it.
func (c *Call) attempt(ctx context.Context, cp capability.Capability, name string, in []byte) ([]byte, HostCall) {
	h := HostCall{Capability: cp.Name, Decision: capability.Deny}
	c.begin()
	value, err := c.decide(ctx, cp, name, in, &h)
	out, outcome := block(value, err)
	h.Outcome, h.Bytes = outcome, int64(len(out))
	return out, h
}

func (c *Call) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
}

func (c *Call) counted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

func (c *Call) note(h HostCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += h.Bytes
	if len(c.calls) < maxHostCalls {
		c.calls = append(c.calls, h)
	}
}

// decide is the order of the checks: linked, mode, quota, validity, what the
// function itself says, record; then the handler.
func (c *Call) decide(ctx context.Context, cp capability.Capability, name string, in []byte, h *HostCall) (any, error) {
	f, served := c.gate.functions[name]
	// The arguments are read before the right is, because the record of a refusal says what
	// was asked.
	a, malformed := f.asked(in)
	h.Summary = a.inWords()
	right, err := c.right(ctx, cp)
	if err == nil {
		err = c.quota(right, in)
	}
	if err == nil {
		err = malformed
	}
	if err == nil && !served {
		err = Errorf(Unavailable, "This host does not serve %s.", name)
	}
	if err == nil {
		err = c.admit(ctx, right, f, a)
	}
	if err == nil && right.Mode == capability.Ask {
		if err = c.ask(ctx, cp, name, in, h.Summary); err == nil {
			// The answer may have taken long; the right may be gone by now.
			right, err = c.right(ctx, cp)
		}
		if err == nil {
			err = c.admit(ctx, right, f, a)
		}
	}
	if err == nil {
		h.Decision = capability.Allow
	}
	if recorded := c.record(name, f, h, err); recorded != nil {
		h.Decision = capability.Deny
		return nil, recorded
	}
	if err != nil {
		return nil, err
	}
	value, err := c.handle(ctx, Request{c, right}, f, a)
	return value, c.deniedLater(name, f, h, err)
}

// admit asks the function itself. An error that is not an *Error denies.
func (c *Call) admit(ctx context.Context, right capability.Right, f Function, a asked) error {
	if a.admit == nil {
		return nil
	}
	err := a.admit(ctx, Request{c, right})
	var told *Error
	if err == nil || errors.As(err, &told) {
		return err
	}
	c.gate.config.Logger.Error("a host call cannot be decided", "plugin", c.Plugin, "function", f.Name, "error", err)
	return Errorf(Denied, "The host could not decide about %s.", f.Name)
}

// deniedLater puts a denial on record that showed only while the function ran,
// such as a name that leads to a forbidden address.
func (c *Call) deniedLater(name string, f Function, h *HostCall, err error) error {
	var told *Error
	if !errors.As(err, &told) || told.Kind != Denied {
		return err
	}
	h.Decision = capability.Deny
	if recorded := c.record(name, f, h, err); recorded != nil {
		return recorded
	}
	return err
}

func (c *Call) right(ctx context.Context, cp capability.Capability) (capability.Right, error) {
	right, err := c.gate.Right(ctx, c.Manifest, c.User, cp.Name)
	if err != nil {
		c.gate.config.Logger.Error("rights cannot be read", "plugin", c.Plugin, "error", err)
		return capability.Right{}, Errorf(Denied, "The rights of this plugin cannot be read.")
	}
	if right.Mode == capability.Deny {
		return right, Errorf(Denied, "%s", right.Reason)
	}
	return right, nil
}

// perCall is what parameters implement that cap the bytes of one tool call.
type perCall interface{ PerCallBytes() int64 }

func (c *Call) quota(right capability.Right, in []byte) error {
	if c.counted() > MaxCalls {
		return Errorf(Quota, "This tool call has made %d host calls, which is all it may.", MaxCalls)
	}
	if len(in) > MaxArgs {
		return tooLong(in)
	}
	if p, ok := right.Params.(perCall); ok {
		return c.Spend(right.Capability, int64(len(in)), p.PerCallBytes())
	}
	return nil
}

// asked reads the arguments of a host call. It returns an *Error of kind Quota or Invalid; a
// function that this host does not serve asks nothing.
func (f Function) asked(in []byte) (asked, error) {
	if len(in) > MaxArgs {
		return asked{}, tooLong(in) // what is too long is not looked at
	}
	if err := wellFormed(in); err != nil {
		return asked{}, err
	}
	if f.read == nil {
		return asked{}, nil
	}
	a, err := f.read(in)
	if err != nil {
		return asked{}, Errorf(Invalid, "The arguments of %s are wrong: %v.", f.Name, err)
	}
	return a, nil
}

func tooLong(in []byte) error {
	return Errorf(Quota, "The arguments have %d bytes, more than %d.", len(in), MaxArgs)
}

// wellFormed refuses what is no JSON object.
func wellFormed(in []byte) error {
	if !utf8.Valid(in) {
		return Errorf(Invalid, "The arguments are not UTF-8.")
	}
	if !json.Valid(in) || !bytes.HasPrefix(bytes.TrimSpace(in), []byte("{")) {
		return Errorf(Invalid, "The arguments are not a JSON object.")
	}
	return nil
}

func (c *Call) ask(ctx context.Context, cp capability.Capability, name string, in []byte, summary string) error {
	if c.gate.config.Asker == nil {
		return Errorf(Denied,
			"The capability %s must be approved by a person for each call, and nobody can be asked here.", cp.Name)
	}
	effect := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", c.Plugin, name, in))
	yes, err := c.gate.config.Asker.Ask(ctx, Question{
		CallInfo: c.CallInfo, Capability: cp.Name, Function: name,
		Sentence: c.Plugin + " " + cp.Ask + ".", Summary: summary,
		Args: bytes.Clone(in), Effect: hex.EncodeToString(effect[:]),
	})
	if err != nil || !yes {
		return Errorf(Denied, "The person did not approve this call.")
	}
	return nil
}

// record puts the call on record; a call that cannot be recorded is denied.
func (c *Call) record(name string, f Function, h *HostCall, refused error) error {
	if f.Quiet && refused == nil {
		return nil
	}
	if refused != nil && c.refusedTooOften() {
		return nil
	}
	e := c.entry(audit.KindHostCall)
	e.Capability, e.Function, e.Summary, e.Decision = h.Capability, name, h.Summary, string(h.Decision)
	if refused != nil {
		_, e.Outcome = block(nil, refused)
	}
	if err := c.gate.config.Audit.Record(e); err != nil {
		c.gate.config.Logger.Error("a host call cannot be recorded and is denied",
			"plugin", c.Plugin, "function", name, "error", err)
		return Errorf(Denied, "The call cannot be recorded, so it is not made.")
	}
	return nil
}

// refusedTooOften counts refusals. A guest that repeats what is denied does not
// fill the log; its calls are still counted in the record of the tool call.
func (c *Call) refusedTooOften() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused++
	return c.refused > maxRefusals
}

// handle runs the function. Its panic fails this call only.
func (c *Call) handle(ctx context.Context, r Request, f Function, a asked) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.gate.config.Logger.Error("a host function panicked",
				"function", f.Name, "panic", p, "stack", string(debug.Stack()))
			value, err = nil, Errorf(Failed, "The host could not serve %s.", f.Name)
		}
	}()
	value, err = a.handle(ctx, r)
	var told *Error
	switch {
	case err == nil:
		return value, nil
	case errors.As(err, &told):
		return nil, told
	case ctx.Err() != nil:
		return nil, Errorf(Cancelled, "The tool call is over.")
	default:
		c.gate.config.Logger.Error("a host function failed", "plugin", c.Plugin, "function", f.Name, "error", err)
		return nil, Errorf(Failed, "The host could not serve %s.", f.Name)
	}
}

// inWords shields the decision from a summary that panics.
func (a asked) inWords() (text string) {
	if a.summary == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	return audit.Shorten(a.summary(), 200)
}

// block returns what the guest reads and the outcome in one word.
func block(value any, err error) (out []byte, outcome string) {
	if err == nil {
		var ok []byte
		if ok, err = json.Marshal(struct {
			OK any `json:"ok"`
		}{value}); err == nil {
			return ok, "ok"
		}
		err = Errorf(Failed, "The host's answer cannot be written as JSON.")
	}
	told := Errorf(Failed, "The host could not serve the call.")
	errors.As(err, &told)
	type detail struct {
		Kind    Kind   `json:"kind"`
		Message string `json:"message"`
	}
	out, err = json.Marshal(struct {
		Error detail `json:"error"`
	}{detail{told.Kind, told.Message}})
	if err != nil { // two strings always marshal
		return []byte(`{"error":{"kind":"failed","message":"The host could not serve the call."}}`), string(Failed)
	}
	return out, string(told.Kind)
}

// Approve decides whether the tool call as a whole may begin, as the approval of
// its manifest entry says. It returns an *Error of kind Denied when it may not.
func (c *Call) Approve(ctx context.Context, mode capability.Mode, args json.RawMessage) error {
	var err error
	switch mode {
	case capability.Allow:
		return nil
	case capability.Ask:
		whole := capability.Capability{Name: "tool", Ask: "wants to run " + c.Tool}
		err = c.ask(ctx, whole, c.Tool, args, "run "+c.Tool)
	default:
		err = Errorf(Denied, "The tool %s is not approved.", c.Tool)
	}
	h := HostCall{Summary: "run " + c.Tool, Decision: capability.Allow}
	if err != nil {
		h.Decision = capability.Deny
	}
	if recorded := c.record(c.Tool, Function{}, &h, err); recorded != nil {
		return recorded
	}
	return err
}
