// Package cli is what the commands of the bulkhead binary do, once their flags
// are read. Arguments and streams come in; text, JSON lines and errors with a
// sentence go out.
//
// Everything that needs the data folder goes over HTTP: to a running server
// through its socket in the folder, else to a host that this process opens
// itself. It must not know how flags are spelled.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/bulkhead-host/bulkhead/host/api"
	"github.com/bulkhead-host/bulkhead/host/app"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// socketName is the name of a server's socket in its data folder.
const socketName = "run.sock"

// closeLimit is how long a command waits for what still runs when it ends.
const closeLimit = 10 * time.Second

// Client makes requests of a host as one of its users.
type Client struct {
	http  *http.Client
	user  string
	close func(context.Context) error
}

// Connect reaches the host of the data folder: the running server, or one that
// it opens in this process. user is whom it acts for, "" for the owner. The
// caller closes the Client.
func Connect(ctx context.Context, o Options, user string) (*Client, error) {
	if c, err := dialServer(ctx, o, user); err == nil {
		return c, nil
	}
	c, err := openHere(ctx, o, user)
	if errors.Is(err, store.ErrLocked) {
		// A server that was starting may have its socket by now.
		if c, dialErr := dialServer(ctx, o, user); dialErr == nil {
			return c, nil
		}
	}
	return c, err
}

// dialServer connects to the server of the data folder, if one runs.
func dialServer(ctx context.Context, o Options, user string) (*Client, error) {
	path := filepath.Join(o.DataDir, socketName)
	dial := func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", path) }
	probe, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	probe.Close() // it was only to see whether somebody listens
	return newClient(dial, user, func(context.Context) error { return nil }), nil
}

// openHere opens the host in this process.
func openHere(ctx context.Context, o Options, user string) (*Client, error) {
	cfg, err := o.Load()
	if err != nil {
		return nil, err
	}
	a, err := app.Open(ctx, app.Options{DataDir: o.DataDir, Config: cfg, Version: o.Version, Holder: o.Holder,
		OnDemand: !o.Settled, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	server := a.Server(app.Door{BaseURL: baseURL(cfg.Listen)})
	memory := api.NewMemory()
	served := make(chan error, 1)
	go func() { served <- server.ServeLocal(memory) }()
	closeAll := func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if failed := <-served; !errors.Is(failed, api.ErrStopped) { // it stops before it serves where there was nothing to do
			err = errors.Join(err, failed)
		}
		return errors.Join(err, a.Close(ctx))
	}
	if o.Settled {
		if err := a.Settle(ctx); ctx.Err() != nil {
			return nil, errors.Join(err, closeAll(context.WithoutCancel(ctx)))
		} else if err != nil {
			printf(o.Err, "bulkhead: %v\n", err) // the rest of the host works
		}
	}
	return newClient(memory.Dial, user, closeAll), nil
}

func newClient(
	dial func(context.Context) (net.Conn, error), user string, closeAll func(context.Context) error,
) *Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return dial(ctx)
	}}
	return &Client{http: &http.Client{Transport: transport}, user: user, close: func(ctx context.Context) error {
		transport.CloseIdleConnections()
		return closeAll(ctx)
	}}
}

// Close ends the connection, and the host where this process opened it.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	return c.close(ctx)
}

// Refusal is returned when the host refuses a request. Its text is the host's
// sentence.
type Refusal struct {
	Code    fault.Code
	Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// request makes a request; path is below the API's root.
func (c *Client) request(
	ctx context.Context, method, path, contentType string, body io.Reader, accept string,
) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost/api/v1"+path, body)
	if err != nil {
		return nil, err
	}
	if c.user != "" {
		r.Header.Set("X-Bulkhead-User", c.user)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	r.Header.Set("Accept", accept)
	res, err := c.http.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("reach the host: %w", err)
	}
	if res.StatusCode >= 300 {
		defer res.Body.Close()
		return nil, refusalOf(res)
	}
	return res, nil
}

// refusalOf reads why a request was refused.
func refusalOf(res *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	var reply struct{ Error fault.Error }
	if err != nil || json.Unmarshal(data, &reply) != nil || reply.Error.Message == "" {
		return fmt.Errorf("the host answered with status %d and no explanation", res.StatusCode)
	}
	return &Refusal{reply.Error.Code, reply.Error.Message}
}

// call sends in as JSON, unless it is nil, and decodes the reply into out.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	kind := ""
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body, kind = bytes.NewReader(data), "application/json"
	}
	res, err := c.request(ctx, method, path, kind, body, "application/json")
	if err != nil {
		return err
	}
	return readReply(res, out)
}

// pathEscape makes a segment of an address of text.
func pathEscape(text string) string { return url.PathEscape(text) }

func readReply(res *http.Response, out any) error {
	defer res.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return fmt.Errorf("read the host's reply: %w", err)
	}
	return nil
}
