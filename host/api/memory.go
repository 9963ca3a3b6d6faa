package api

import (
	"context"
	"net"
	"sync"
)

// Memory is a listener inside the process, by which the command line talks to a
// host that it opened itself.
type Memory struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewMemory returns a listener that nobody else can reach.
func NewMemory() *Memory { return &Memory{conns: make(chan net.Conn), done: make(chan struct{})} }

// Dial returns the client's end of a new connection. It returns net.ErrClosed
// after Close.
func (m *Memory) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	err := net.ErrClosed
	select {
	case m.conns <- server:
		return client, nil
	case <-m.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	client.Close() // the pipe never fails to close
	server.Close()
	return nil, err
}

// Accept implements net.Listener.
func (m *Memory) Accept() (net.Conn, error) {
	select {
	case conn := <-m.conns:
		return conn, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (m *Memory) Close() error {
	m.once.Do(func() { close(m.done) })
	return nil
}

// Addr implements net.Listener.
func (m *Memory) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

// Network implements net.Addr.
func (memoryAddr) Network() string { return "memory" }

// String implements net.Addr.
func (memoryAddr) String() string { return "memory" }
