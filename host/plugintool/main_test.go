package plugintool_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
)

// built is what TestMain built, for all tests of the package.
var built guesttest.Modules

func TestMain(m *testing.M) {
	flag.Parse()
	if fuzz := flag.Lookup("test.fuzz"); fuzz != nil && fuzz.Value.String() != "" {
		os.Exit(m.Run()) // no fuzz target runs a module, and each worker would build them all
	}
	dir, err := os.MkdirTemp("", "plugintool-test-*")
	if err == nil {
		built, err = guesttest.Build(dir, "../..")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the plugins:", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}
