package api

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/bulkhead-host/bulkhead/host/fault"
)

// errHijackedTwice is returned when a handshake asks for its connection again.
var errHijackedTwice = errors.New("api: connection was hijacked already")

// handshake is the http.ResponseWriter of one WebSocket handshake on a
// connection that was taken from fasthttp. Its Hijack writes the reply itself:
// fasthttp's own adaptor drops the status 101 and the header on Hijack, and the
// client would wait for ever.
//
// It is used by one goroutine.
type handshake struct {
	conn   net.Conn
	header http.Header
	status int
	body   bytes.Buffer
	taken  bool
}

func newHandshake(conn net.Conn) *handshake {
	return &handshake{conn: directConn(conn), header: make(http.Header)}
}

// Header implements http.ResponseWriter.
func (h *handshake) Header() http.Header { return h.header }

// WriteHeader implements http.ResponseWriter. The first status counts.
func (h *handshake) WriteHeader(status int) {
	if h.status == 0 {
		h.status = status
	}
}

// Write implements http.ResponseWriter. What is written is sent by refuse, when
// the handshake has failed; after Hijack the connection is the caller's.
func (h *handshake) Write(p []byte) (int, error) {
	if h.taken {
		return 0, http.ErrHijacked
	}
	h.WriteHeader(http.StatusOK)
	return h.body.Write(p)
}

// Hijack implements http.Hijacker. It sends the status line and the header that
// were set, then hands the connection over.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if h.taken {
		return nil, nil, errHijackedTwice
	}
	h.taken = true
	if err := h.send(nil); err != nil {
		return nil, nil, fmt.Errorf("answer the handshake: %w", err)
	}
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}

// refuse sends the reply of a handshake that never came to Hijack. It does
// nothing after Hijack.
func (h *handshake) refuse() error {
	if h.taken {
		return nil
	}
	h.taken = true
	h.header.Set("Connection", "close")
	h.header.Set("Content-Length", fmt.Sprint(h.body.Len()))
	return h.send(h.body.Bytes())
}

func (h *handshake) send(body []byte) error {
	h.WriteHeader(fault.Internal.Status())
	var reply bytes.Buffer
	fmt.Fprintf(&reply, "HTTP/1.1 %d %s\r\n", h.status, http.StatusText(h.status))
	if err := h.header.Write(&reply); err != nil {
		return err
	}
	reply.WriteString("\r\n")
	reply.Write(body)
	_, err := h.conn.Write(reply.Bytes())
	return err
}

// closingConn is a connection taken from fasthttp whose Close closes. The one
// that fasthttp hands out ignores Close until its handler returns, and a reader
// that should end by it would hang. Reads still go through fasthttp's, which
// holds what came in with the request.
type closingConn struct {
	net.Conn
	raw net.Conn
}

// Close closes the connection itself.
func (c closingConn) Close() error { return c.raw.Close() }

func directConn(conn net.Conn) net.Conn {
	if u, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
		return closingConn{Conn: conn, raw: u.UnsafeConn()}
	}
	return conn
}

// netHTTPRequest is the request of a handshake as net/http would have read it.
// It copies what it takes, so it outlives the fasthttp request.
func netHTTPRequest(ctx *fasthttp.RequestCtx) *http.Request {
	header := make(http.Header)
	ctx.Request.Header.VisitAll(func(key, value []byte) {
		header.Add(string(key), string(value))
	})
	r := &http.Request{
		Method:     string(ctx.Method()),
		RequestURI: string(ctx.RequestURI()),
		Host:       string(ctx.Host()),
		Header:     header,
		Proto:      "HTTP/1.0",
		ProtoMajor: 1,
		RemoteAddr: ctx.RemoteAddr().String(),
	}
	if ctx.Request.Header.IsHTTP11() {
		r.Proto, r.ProtoMinor = "HTTP/1.1", 1
	}
	return r
}
