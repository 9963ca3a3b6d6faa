// Command bulkhead is the agent host: it serves the page, and its other commands
// do from a terminal what the page does.
//
// This package reads flags and hands over to host/cli. Exit codes: 0 done, 1
// failed with a sentence on stderr, 2 wrong usage.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // a machine without the zones of people knows their day all the same

	"github.com/bulkhead-host/bulkhead/host/cli"
)

// version is set by the build of a release with -ldflags "-X main.version=…". Otherwise it
// is what the toolchain stamps, which names the commit.
var version = ""

// versionText returns the version, "dev" where nobody knows.
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends in order, the next at once
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// failed is an error of a command that was called rightly.
type failed struct{ error }

// Unwrap returns the cause.
func (f failed) Unwrap() error { return f.error }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	root := newRoot(out, errs)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	var f failed
	switch {
	case err == nil:
		return 0
	case errors.As(err, &f):
		fmt.Fprintf(errs, "bulkhead: %s\n", cli.Printable(sentence(ctx, f.error)))
		return 1
	default:
		fmt.Fprintf(errs, "bulkhead: %v\n", err)
		return 2
	}
}

// sentence is what a person is told of an error; that they interrupted the command
// themselves is not told as one of its own.
func sentence(ctx context.Context, err error) string {
	if ctx.Err() != nil && err.Error() == context.Canceled.Error() {
		return "stopped before it was done"
	}
	return err.Error()
}

// options are the flags that all commands share.
type options struct {
	cli.Options
	user string
}
