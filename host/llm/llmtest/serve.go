package llmtest

import (
	"context"
	"errors"
	"net/http"
)

// errCut is returned when the script breaks the connection.
var errCut = errors.New("the script cuts the stream here")

// serve writes the reply. An error means that the connection is to break.
func (r *Reply) serve(ctx context.Context, w http.ResponseWriter) error {
	if r.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.status)
	out := &writer{w: w, control: http.NewResponseController(w), left: r.cutAt, chunk: r.chunk}
	if err := out.control.Flush(); err != nil {
		return err
	}
	for _, p := range r.all() {
		if p.wait != nil {
			if err := p.wait(ctx); err != nil {
				return err
			}
		}
		if more, err := out.write(p.data); err != nil {
			return err
		} else if !more {
			break
		}
	}
	if r.cutAt >= 0 && r.cutHard {
		return errCut
	}
	return nil
}

// writer sends pieces and counts down to the cut.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	left    int // bytes until the cut, negative for no cut
	chunk   int
}

// write sends data, flushed; more is false when the cut is reached.
func (o *writer) write(data []byte) (more bool, err error) {
	more = true
	if o.left >= 0 {
		if len(data) >= o.left {
			data, more = data[:o.left], false
		}
		o.left -= len(data)
	}
	size := o.chunk
	if size <= 0 {
		size = max(len(data), 1)
	}
	for len(data) > 0 {
		n := min(size, len(data))
		if _, err := o.w.Write(data[:n]); err != nil {
			return false, err
		}
		if err := o.control.Flush(); err != nil {
			return false, err
		}
		data = data[n:]
	}
	return more, nil
}
