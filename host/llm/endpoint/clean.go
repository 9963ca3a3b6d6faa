package endpoint

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// Clean makes the body of a reply one that a decoder of server-sent events reads to its
// end, whatever the server makes of them: lines that end with a bare CR, a byte order mark,
// a last event without a blank line, an error in a field of its own, JSON without a field.
// A line that the end of the body cut is left out. Close closes the body.
func Clean(response *http.Response) {
	response.Body = &cleaner{src: response.Body, first: true}
}

// cleaner is the body that Clean makes. Source of the format: the HTML standard, "Parsing an
// event stream".
type cleaner struct {
	src io.ReadCloser
	err error
	// line is the line that has not ended, out what is to be read.
	line []byte
	out  bytes.Buffer
	// first says that no line has ended yet, cr that the last one ended with a CR, open
	// that an event has begun and not ended.
	first, cr, open bool
	buf             [16 << 10]byte
}

// Read implements io.Reader.
func (c *cleaner) Read(p []byte) (int, error) {
	for c.out.Len() == 0 {
		if c.err != nil {
			return 0, c.err
		}
		n, err := c.src.Read(c.buf[:])
		c.take(c.buf[:n])
		if err == io.EOF {
			c.end()
		}
		c.err = err
	}
	return c.out.Read(p)
}

// Close implements io.Closer.
func (c *cleaner) Close() error { return c.src.Close() }

func (c *cleaner) take(data []byte) {
	for len(data) > 0 {
		if c.cr && data[0] == '\n' {
			data = data[1:]
		}
		c.cr = false
		n := bytes.IndexAny(data, "\r\n")
		if n < 0 {
			c.line = append(c.line, data...)
			return
		}
		c.line = append(c.line, data[:n]...)
		c.cr = data[n] == '\r'
		data = data[n+1:]
		c.ended()
		c.line = c.line[:0]
	}
}

// ended takes a whole line.
func (c *cleaner) ended() {
	line := c.line
	if c.first {
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		c.first = false
	}
	switch {
	case len(line) == 0:
		c.out.WriteByte('\n')
		c.open = false
	case line[0] == '{' && json.Valid(line):
		c.event(line)
	case bytes.HasPrefix(line, []byte("error:")):
		c.event(asError(bytes.TrimSpace(line[len("error:"):])))
	default:
		c.out.Write(line)
		c.out.WriteByte('\n')
		c.open = true
	}
}

// event writes data as an event of its own.
func (c *cleaner) event(data []byte) {
	if c.open {
		c.out.WriteByte('\n')
	}
	c.out.WriteString("data: ")
	c.out.Write(data)
	c.out.WriteString("\n\n")
	c.open = false
}

// asError is what stood in a field called error, as an object that has one.
func asError(said []byte) []byte {
	var object map[string]json.RawMessage
	if json.Unmarshal(said, &object) == nil && object != nil {
		if _, has := object["error"]; has {
			return said
		}
		data, _ := json.Marshal(map[string]json.RawMessage{"error": said}) // it was decoded
		return data
	}
	data, _ := json.Marshal(map[string]string{"error": string(said)}) // a string always encodes
	return data
}

// end takes what the body ended with: a line that is whole though nothing ended it, and
// an event that no blank line ended.
func (c *cleaner) end() {
	data, isData := bytes.CutPrefix(c.line, []byte("data:"))
	data = bytes.TrimSpace(data)
	switch {
	case len(c.line) == 0:
	case isData && (json.Valid(data) || bytes.Equal(data, []byte("[DONE]"))), c.line[0] == '{' && json.Valid(c.line):
		c.ended()
	default:
		c.open = false // it was cut: the event is not whole
	}
	c.line = nil
	if c.open {
		c.out.WriteByte('\n')
		c.open = false
	}
}
