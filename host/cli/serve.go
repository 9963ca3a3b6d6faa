package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/bulkhead-host/bulkhead/host/api"
	"github.com/bulkhead-host/bulkhead/host/app"
	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// Serve runs the host until ctx is done, and then ends it in order. listen, when
// it is not empty, takes the place of the configuration's; browse opens the page
// in the system's browser.
func Serve(ctx context.Context, o Options, listen string, browse bool) (err error) {
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	if listen != "" {
		if cfg, err = cfg.With(func(c *config.Config) { c.Listen = listen }); err != nil {
			return err
		}
	}
	if cfg.Log != config.LogQuiet {
		o.Logger = NewLogger(o.Err, cfg.Log, o.Verbose)
	}
	a, err := app.Open(ctx, app.Options{DataDir: o.DataDir, Config: cfg, Version: o.Version, Holder: o.Holder,
		Logger: o.Logger})
	if errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("%w; stop that one, or serve another folder with --data", err)
	}
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		err = errors.Join(err, a.Close(end))
	}()
	ln, err := net.Listen("tcp", cfg.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("another program listens on %s already; stop it, or choose another address with --listen",
			cfg.Listen)
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w", cfg.Listen, err)
	}
	door := app.Door{BaseURL: baseURL(ln.Addr().String()), LoopbackOnly: onLoopback(cfg.Listen)}
	if onLoopback(cfg.Listen) || net.ParseIP(hostOf(cfg.Listen)) == nil && hostOf(cfg.Listen) != "" {
		door.BaseURL = baseURL(net.JoinHostPort(hostOf(cfg.Listen), portOf(ln.Addr())))
	}
	server := a.Server(door)
	return run(ctx, o, a, server, ln, door.BaseURL, browse)
}

func hostOf(listen string) string {
	host, _, _ := net.SplitHostPort(listen) // it was checked with the configuration
	return host
}

func portOf(addr net.Addr) string {
	_, port, _ := net.SplitHostPort(addr.String()) // a listener's address has a port
	return port
}

// run serves on ln and on the data folder's socket until ctx is done.
func run(
	ctx context.Context, o Options, a *app.App, server *api.Server, ln net.Listener, url string, browse bool,
) error {
	failed := make(chan error, 2)
	serving := 1
	go func() { failed <- server.Serve(ln) }()
	if socket, err := listenSocket(o.DataDir); err != nil {
		// Without it commands beside this server say who holds the data folder.
		printf(o.Err, "bulkhead: other commands cannot use this server: %v\n", err)
	} else {
		serving++
		go func() { failed <- server.ServeLocal(socket) }()
	}
	err := announce(ctx, o, a, server, url, browse)
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-failed:
			serving--
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	errs := []error{err, server.Shutdown(end)}
	for range serving {
		errs = append(errs, <-failed)
	}
	return errors.Join(errs...)
}

// announce prints the address and, until somebody has signed in, a link.
func announce(ctx context.Context, o Options, a *app.App, server *api.Server, url string, browse bool) error {
	printf(o.Out, "Bulkhead is serving at %s\n", url)
	if wanted := a.Models.MissingDefault(); wanted != "" {
		printf(o.Err, "bulkhead: default_model is %q, and there is no such model now; `bulkhead model list` shows "+
			"what there is\n", wanted)
	}
	first, err := a.FirstStart()
	if err != nil {
		return err
	}
	if !first && !browse {
		return nil
	}
	link, err := server.Link(ctx, identity.ForHost("print a link at the start"), a.Owner)
	if err != nil {
		return err
	}
	if first {
		printf(o.Out, "Sign in once with %s\n", link.URL)
	}
	if browse {
		if err := openBrowser(link.URL); err != nil {
			printf(o.Err, "bulkhead: no browser could be opened: %v\n", err)
		}
	}
	return nil
}

// maxSocketPath is the longest path that every system takes for a socket.
const maxSocketPath = 103

// listenSocket listens on the data folder's socket, for this user only. The
// caller holds the data folder, so a socket that is there already is left over.
func listenSocket(data string) (net.Listener, error) {
	path := filepath.Join(data, socketName)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path %s is longer than the %d bytes that a socket may have", path, maxSocketPath)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	// The folder is closed to others, so nobody was faster.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// openBrowser opens a page in the system's browser and does not wait for it.
func openBrowser(url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
