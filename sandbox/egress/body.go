package egress

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
)

// bombRatio is how many times its size a body may unpack to before one that is
// too large counts as a bomb. Text reaches 10 to 30.
const bombRatio = 100

// counter counts what was read before decompression.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// readBody returns at most limit bytes of a body, decompressed, and whether there
// was more.
func readBody(res *http.Response, limit int64) (data []byte, truncated bool, err error) {
	raw := &counter{Reader: res.Body}
	reader, encoding, err := decoder(res.Header.Values("Content-Encoding"), raw)
	if err != nil {
		return nil, false, err
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(reader, limit+1))
	if n > limit {
		if encoding != "" && n/max(raw.n, 1) > bombRatio {
			return nil, false, fail(Bomb, "The answer unpacks to more than %d times its size and was dropped.",
				bombRatio)
		}
		return out.Bytes()[:limit:limit], true, nil
	}
	if err != nil {
		return nil, false, decodeError(encoding, err)
	}
	return out.Bytes(), false, nil
}

// decodeError tells bytes that are not what the header says from a connection
// that ended.
func decodeError(encoding string, err error) error {
	var corrupt flate.CorruptInputError
	if encoding == "" {
		return err
	}
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zlib.ErrHeader) ||
		errors.Is(err, zlib.ErrChecksum) ||
		errors.As(err, &corrupt) || strings.HasPrefix(err.Error(), "brotli:") {
		return fail(Broken, "The answer says that it is compressed with %s, and it is not.", encoding).from(err)
	}
	return err
}

// decoder undoes one content encoding. An empty body needs none.
func decoder(values []string, raw io.Reader) (io.Reader, string, error) {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(values, ",")))
	buffered := bufio.NewReader(raw)
	if _, err := buffered.Peek(1); errors.Is(err, io.EOF) {
		return buffered, "", nil
	}
	switch encoding {
	case "", "identity":
		return buffered, "", nil
	case "gzip", "x-gzip":
		r, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, "", decodeError("gzip", err)
		}
		return r, "gzip", nil
	case "deflate":
		r, err := inflate(buffered)
		return r, "deflate", err
	case "br":
		return brotli.NewReader(buffered), "br", nil
	}
	return nil, "", fail(Broken, "The answer is compressed with %q, which was not asked for.", shorten(encoding, 40))
}

// inflate reads deflate as the standard has it, with a zlib header, and as some
// servers send it, without.
func inflate(b *bufio.Reader) (io.Reader, error) {
	head, err := b.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		r, err := zlib.NewReader(b)
		if err != nil {
			return nil, decodeError("deflate", fmt.Errorf("read deflate: %w", err))
		}
		return r, nil
	}
	return flate.NewReader(b), nil
}
