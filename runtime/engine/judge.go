package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/sys"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
)

// maxGuestText is the longest error text of a guest that is passed on, in bytes.
const maxGuestText = 4 << 10

// judge says how a call ended: nil for well.
func (m *Module) judge(
	ctx context.Context, limits Limits, export string, state *abi.State, code int32, err error,
) *CallError {
	if err == nil {
		return guestError(export, state, code)
	}
	// A guest can exit with the very code that wazero uses for a stopped call, so the
	// context decides.
	if ctx.Err() != nil {
		return m.stopped(ctx, limits, "")
	}
	if errors.Is(err, abi.ErrFuel) {
		return &CallError{Kind: CPU, Message: fmt.Sprintf("The plugin was stopped: cpu budget spent (%d instructions).",
			limits.Fuel)}
	}
	if errors.Is(err, abi.ErrOutput) {
		return &CallError{Kind: OutputTooLarge, Message: fmt.Sprintf(
			"The plugin wrote more than %d bytes, which is its limit. Return less, or in parts.", limits.OutputBytes)}
	}
	var hostPanic *abi.HostPanic
	if errors.As(err, &hostPanic) {
		m.engine.config.Logger.Error("a host function panicked", "module", m.sha256, "function", hostPanic.Function,
			"panic", hostPanic.Value, "stack", string(hostPanic.Stack))
		return &CallError{Kind: HostFault, Message: fmt.Sprintf("The host function %s failed inside the host; the "+
			"call was ended.", hostPanic.Function)}
	}
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		if exit.ExitCode() == 0 {
			return guestError(export, state, 0)
		}
		return &CallError{Kind: Exit, Code: int32(exit.ExitCode()),
			Message: withStderr(fmt.Sprintf("The plugin exited with the code %d", int32(exit.ExitCode())), state)}
	}
	var misuse *abi.Fault
	if errors.As(err, &misuse) {
		return &CallError{Kind: Trap, Message: misuse.Message}
	}
	return &CallError{Kind: Trap, Message: withStderr("The plugin trapped: "+trapText(err), state)}
}

// guestError returns what the guest reported itself, nil if nothing.
func guestError(export string, state *abi.State, code int32) *CallError {
	text := state.ErrorText()
	switch {
	case text != "":
		return &CallError{Kind: GuestError, Code: code, Message: shorten(text, maxGuestText)}
	case code != 0:
		return &CallError{Kind: GuestError, Code: code,
			Message: fmt.Sprintf("The plugin's %s returned %d and gave no reason.", export, code)}
	}
	return nil
}

// stopped returns the error of a call whose context is done.
func (m *Module) stopped(ctx context.Context, limits Limits, while string) *CallError {
	if while != "" {
		while += " "
	}
	switch {
	case m.life.Err() != nil:
		return &CallError{Kind: Cancelled, Message: "The call was stopped because the plugin is being closed."}
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return &CallError{Kind: Timeout, Message: fmt.Sprintf("The plugin %sdid not finish in time; its limit is %s.",
			while, limits.Timeout)}
	}
	return &CallError{Kind: Cancelled, Message: "The call was stopped."}
}

// trapText returns the first line of a trap and the name of the function that it
// happened in, where the module has names. What a host function or the compiler adds
// of Go's own stack is left out.
func trapText(err error) string {
	reason, trace, _ := strings.Cut(err.Error(), "\n")
	reason = strings.TrimPrefix(reason, "wasm error: ")
	if strings.Contains(reason, "(recovered by wazero)") {
		// A panic inside wazero's own WASI functions, which do not check everything.
		return "a system call got arguments that are out of range"
	}
	reason = shorten(reason, 200)
	_, frames, _ := strings.Cut(trace, "\n\t")
	frame, _, _ := strings.Cut(frames, "\n")
	name, _, _ := strings.Cut(strings.TrimPrefix(frame, "."), "(")
	if name == "" || strings.HasPrefix(name, "$") {
		return reason
	}
	return reason + " in " + shorten(name, 120)
}

// withStderr ends a sentence, with the first line of stderr where there is one.
func withStderr(sentence string, state *abi.State) string {
	if line := state.StderrLine(); line != "" {
		return sentence + ": " + line
	}
	return sentence + "."
}

// shorten cuts s to at most max bytes at the end of a character.
func shorten(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max] + "…"
}
