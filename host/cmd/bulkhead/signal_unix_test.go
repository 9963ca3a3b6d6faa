//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestASecondInterruptEndsAtOnce asks a host that takes the question and never
// says a word.
func TestASecondInterruptEndsAtOnce(t *testing.T) {
	data, err := os.MkdirTemp("", "bh") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(data)
	silent, err := net.Listen("unix", filepath.Join(data, "run.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience) // then it is killed, and the test fails
	defer cancel()
	cmd := exec.CommandContext(ctx, "bulkhead", "chat", "hello", "--data", data)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		silent.Close() // nobody is left who could ask
	}()
	for asked := false; !asked; {
		conn, err := silent.Accept()
		if err != nil {
			t.Fatalf("it asked nothing and ended with %v: %s", <-ended, &said)
		}
		defer conn.Close()
		_, err = bufio.NewReader(conn).ReadString('\n')
		asked = err == nil // else it was only looking whether somebody listens
	}
	// A flood of signals can hit the process while the runtime gives the signal
	// back to the system, so they come one by one.
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
				t.Errorf("it ended with %v: %s", err, &said)
			}
			return
		case <-again.C:
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended just now
		}
	}
}
