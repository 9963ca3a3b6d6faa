package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/plugins"
)

// moduleCache is one cache of compiled modules for all tests, as one data folder
// has.
var moduleCache string

// TestMain builds the binary that the tests run, and lets it compile the built-in
// plugins once. The binary is the one that people get, without the race
// detector, in which each start takes many times longer; the rooms' own tests
// run under it.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "bulkhead-cmd-*")
	if err == nil {
		moduleCache = filepath.Join(dir, "modules")
		err = prepare(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare bulkhead for its tests:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func prepare(dir string) error {
	bin := filepath.Join(dir, "bin")
	data := filepath.Join(dir, "data")
	if err := os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		return err
	}
	if err := os.MkdirAll(moduleCache, 0o700); err != nil {
		return err
	}
	if err := useModuleCache(data); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"go", "build", "-trimpath", "-o", filepath.Join(bin, "bulkhead"), "."},
		{filepath.Join(bin, "bulkhead"), "plugin", "list", "--data", data},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// useModuleCache makes a data folder use the tests' cache.
func useModuleCache(data string) error {
	if err := os.MkdirAll(filepath.Join(data, "cache"), 0o700); err != nil {
		return err
	}
	return os.Symlink(moduleCache, filepath.Join(data, "cache", "modules"))
}

// lookForNoModels configures a data folder that has no configuration: a model server that
// happens to run on this machine must not answer the scripts.
func lookForNoModels(data string) error {
	file, err := os.OpenFile(filepath.Join(data, "bulkhead.yaml"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString("probe: false\n")
	return errors.Join(err, file.Close())
}

func TestScripts(t *testing.T) {
	modules := map[string][]byte{}
	for _, name := range []string{"search.wasm", "open_url.wasm", "memory.wasm"} {
		data, err := plugins.Dist.ReadFile("dist/" + name)
		if err != nil {
			t.Fatal("the built-in plugins are not built; run task build first: ", err)
		}
		modules[name] = data
	}
	cassettes, err := filepath.Abs("testdata/cassettes")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("BULKHEAD_DATA", filepath.Join(e.WorkDir, "data"))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("CASSETTES", cassettes)
			if err := useModuleCache(filepath.Join(e.WorkDir, "data")); err != nil {
				return err
			}
			if err := lookForNoModels(filepath.Join(e.WorkDir, "data")); err != nil {
				return err
			}
			for name, data := range modules {
				if err := os.WriteFile(filepath.Join(e.WorkDir, name), data, 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "server": startServer, "stopserver": stopServer, "packets": checkPackets,
			"web": startWeb, "envfile": expandFile, "cassette": playCassette, "sent": checkSent, "session": noteSession,
		},
	})
}

// code runs bulkhead and checks its exit code: code 2 chat.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: code CODE ARG…")
	}
	err := ts.Exec("bulkhead", args[1:]...)
	got := "0"
	if exit, ok := err.(*exec.ExitError); ok {
		got = fmt.Sprint(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("bulkhead: %v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// servers are the running servers of the scripts.
var servers sync.Map

type server struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	output *bytes.Buffer
	read   chan struct{}
}

var addressLine = regexp.MustCompile(`^Bulkhead is serving at (http://\S+)`)

// startServer runs bulkhead serve in the background until it says its address,
// and sets $URL and, without the scheme, $ADDRESS.
func startServer(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "bulkhead", append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	path, err := lookPath(ts.Getenv("PATH"), "bulkhead")
	ts.Check(err)
	cmd.Path, cmd.Err = path, nil
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "BULKHEAD_DATA="+ts.Getenv("BULKHEAD_DATA"), "HOME="+ts.Getenv("HOME"))
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	s := &server{cmd: cmd, cancel: cancel, output: new(bytes.Buffer), read: make(chan struct{})}
	cmd.Stderr = s.output
	ts.Check(cmd.Start())
	servers.Store(ts.MkAbs("."), s)
	ts.Defer(cancel)
	late := time.AfterFunc(patience, cancel) // the process is killed, which ends its output
	defer late.Stop()
	ts.Setenv("URL", "")
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := addressLine.FindStringSubmatch(lines.Text()); m != nil {
			ts.Setenv("URL", m[1])
			ts.Setenv("ADDRESS", strings.TrimPrefix(m[1], "http://"))
			break
		}
	}
	go func() {
		defer close(s.read)
		for lines.Scan() {
		}
	}()
	if ts.Getenv("URL") == "" {
		<-s.read
		err := cmd.Wait()
		ts.Fatalf("the server did not say its address within %s: %v\n%s", patience, err, s.output)
	}
}

func lookPath(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if p := filepath.Join(dir, name); executable(p) {
			return p, nil
		}
	}
	return "", exec.ErrNotFound
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// stopServer interrupts the script's server and checks that it ends well.
func stopServer(ts *testscript.TestScript, _ bool, _ []string) {
	v, ok := servers.LoadAndDelete(ts.MkAbs("."))
	if !ok {
		ts.Fatalf("no server runs")
	}
	s := v.(*server)
	ts.Check(s.cmd.Process.Signal(os.Interrupt))
	late := time.AfterFunc(patience, s.cancel) // it is killed, and the script fails
	defer late.Stop()
	<-s.read
	if err := s.cmd.Wait(); err != nil {
		ts.Fatalf("the server, interrupted, did not end well within %s: %v\n%s", patience, err, s.output)
	}
	s.cancel()
}

// checkPackets checks that a file of JSON lines is a run in order, and that it
// has a packet of each of the types named.
func checkPackets(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: packets FILE TYPE…")
	}
	var run []packet.Packet
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var p packet.Packet
		ts.Check(p.UnmarshalJSON([]byte(line)))
		run = append(run, p)
	}
	if broken := packettest.Check(run); len(broken) > 0 {
		ts.Fatalf("the run breaks the protocol: %v", broken)
	}
	for _, want := range args[1:] {
		found := false
		for _, p := range run {
			found = found || p.Obj.Type() == want
		}
		if !found {
			ts.Fatalf("no packet of type %s", want)
		}
	}
}
