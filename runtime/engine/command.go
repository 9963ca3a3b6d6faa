package engine

import (
	"context"
	"errors"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
	"github.com/bulkhead-host/bulkhead/runtime/vfs"
)

// Mount is a tree of files at a path of the guest.
type Mount = vfs.Mount

// Command is one run of a WASI program, a module that exports _start.
type Command struct {
	// Args are its arguments, the program's name first.
	Args []string
	// Stdin is what it reads; nil is an empty stdin.
	Stdin []byte
	// Mounts are the files that it sees.
	Mounts []Mount
	// Config, Host, HTTP, Log and Limits are as in Call. Log has no stdout.
	Config map[string]string
	Host   func(name string) HostFunc
	HTTP   HTTPFunc
	Log    func(level, message string)
	Limits Limits
}

// CommandOutcome is how a WASI program ended. Output of the outcome is its stdout.
type CommandOutcome struct {
	Outcome
	// Code is the exit code, 0 for a program that returned.
	Code int32
	// Stderr is the end of what it wrote to stderr, at most 4 KiB, not always UTF-8.
	Stderr []byte
}

// stderrKept is how much of stderr a CommandOutcome has.
const stderrKept = 4 << 10

// Run runs the program in an instance that no other call sees. An exit code other than 0
// is no error: what it means is up to the program. Run returns a *CallError for what ends
// other calls too, and ErrClosed after Close.
func (m *Module) Run(ctx context.Context, c Command) (CommandOutcome, error) {
	return m.command(ctx, c, m.Call)
}

// Run is Module.Run. It must not be used after Release.
func (l *Lease) Run(ctx context.Context, c Command) (CommandOutcome, error) {
	return l.module.command(ctx, c, l.Call)
}

func (m *Module) command(
	ctx context.Context, c Command, call func(context.Context, Call) (Outcome, error),
) (CommandOutcome, error) {
	stdout := &capture{limit: m.limits.within(c.Limits).OutputBytes}
	stderr := &tail{}
	out, err := call(ctx, Call{
		Export: "_start", Config: c.Config, Host: c.Host, HTTP: c.HTTP, Log: c.Log, Limits: c.Limits, Mounts: c.Mounts,
		command: &abi.Command{Args: c.Args, Stdin: c.Stdin, Stdout: stdout, Stderr: stderr},
	})
	exit := CommandOutcome{Outcome: out, Stderr: stderr.bytes()}
	exit.Output = stdout.data
	var failed *CallError
	if errors.As(err, &failed) && failed.Kind == Exit {
		exit.Code, err = failed.Code, nil
	}
	return exit, err
}

// capture keeps an output up to a limit, and ends the call beyond it.
type capture struct {
	data  []byte
	limit int64
}

// Write implements io.Writer.
func (c *capture) Write(p []byte) (int, error) {
	if int64(len(p)) > c.limit-int64(len(c.data)) {
		panic(abi.ErrOutput)
	}
	c.data = append(c.data, p...)
	return len(p), nil
}

// tail keeps the end of a stream.
type tail struct{ data []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > stderrKept {
		p = p[len(p)-stderrKept:]
	}
	if len(t.data)+len(p) > 2*stderrKept {
		t.data = append(t.data[:0], t.bytes()...)
	}
	t.data = append(t.data, p...)
	return n, nil
}

func (t *tail) bytes() []byte { return t.data[max(0, len(t.data)-stderrKept):] }
