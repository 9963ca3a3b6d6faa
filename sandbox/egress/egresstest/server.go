package egresstest

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
)

// Text is what the well-behaved paths answer.
const Text = "The lamp of the northern tower burns forty litres of oil in a single night."

// Server returns a running web server that does everything wrong, by path. The
// caller closes it; no handler outlives the connection of its request.
//
//	/ok /gzip /br /deflate /raw-deflate   Text, in that encoding
//	/echo                                 method, headers and body of the request
//	/page                                 Text as a page in HTML
//	/to?u=URL&s=302                       a redirect there
//	/hops/N                               N redirects, then Text
//	/slow /drip                           silence before, or after, the first byte
//	/endless                              a body without an end
//	/gzip-bomb /br-bomb /deflate-bomb     zeros that weigh nothing
//	/fifty                                50 MB of HTML
//	/deep                                 100,000 nested elements
//	/long /short                          a wrong Content-Length
//	/gzip-lie /br-lie /klingon            bytes that are not encoded as they say
//	/garbage /hangup /flood /continues    no HTTP, nothing, headers without an end, 1xx without an end
//	/chunks                               a broken chunk
//	/png /charset /cookie /refresh        a wrong type, broken bytes, a cookie, a refresh to loopback
func Server() *httptest.Server { return httptest.NewServer(Handler()) }

// Handler is the handler of Server.
func Handler() http.Handler {
	m := http.NewServeMux()
	wellBehaved(m)
	redirects(m)
	slowOrLarge(m)
	liars(m)
	return m
}

func say(contentType, encoding string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		if encoding != "" {
			w.Header().Set("Content-Encoding", encoding)
		}
		w.Write(body) //nolint:errcheck // the client may be gone
	}
}

// packed compresses text.
func packed(wrap func(io.Writer) io.WriteCloser, text string) []byte {
	var b bytes.Buffer
	w := wrap(&b)
	io.WriteString(w, text) //nolint:errcheck // a buffer takes everything
	w.Close()
	return b.Bytes()
}

func gzipped(w io.Writer) io.WriteCloser   { return gzip.NewWriter(w) }
func zlibbed(w io.Writer) io.WriteCloser   { return zlib.NewWriter(w) }
func brotlied(w io.Writer) io.WriteCloser  { return brotli.NewWriterLevel(w, 3) }
func deflated(w io.Writer) io.WriteCloser  { f, _ := flate.NewWriter(w, 6); return f }
func page(title, body string) (out []byte) { return []byte(pageText(title, body)) }

func pageText(title, body string) string {
	return "<!doctype html><html><head><title>" + title +
		"</title></head><body><nav><a href=/>Home</a></nav><main><h1>" + title + "</h1><p>" + body +
		"</p></main></body></html>"
}

func wellBehaved(m *http.ServeMux) {
	m.HandleFunc("/ok", say("text/plain", "", []byte(Text)))
	m.HandleFunc("/gzip", say("text/plain", "gzip", packed(gzipped, Text)))
	m.HandleFunc("/br", say("text/plain", "br", packed(brotlied, Text)))
	m.HandleFunc("/deflate", say("text/plain", "deflate", packed(zlibbed, Text)))
	m.HandleFunc("/raw-deflate", say("text/plain", "deflate", packed(deflated, Text)))
	m.HandleFunc("/page", say("text/html; charset=utf-8", "", page("Northern tower", Text)))
	m.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s\nHost: %s\n", r.Method, r.URL.RequestURI(), r.Proto, r.Host)
		r.Header.Write(w) //nolint:errcheck // the client may be gone
		fmt.Fprintf(w, "\n%s", body)
	})
}

func redirects(m *http.ServeMux) {
	m.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.FormValue("s"))
		if err != nil {
			status = http.StatusFound
		}
		w.Header().Set("Location", r.FormValue("u"))
		w.WriteHeader(status)
	})
	m.HandleFunc("/hops/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.PathValue("n"))
		if err != nil || n <= 0 {
			io.WriteString(w, Text) //nolint:errcheck // the client may be gone
			return
		}
		http.Redirect(w, r, "/hops/"+strconv.Itoa(n-1), http.StatusFound)
	})
	m.HandleFunc("/refresh", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Refresh", "0; url=http://127.0.0.1/")
		w.Write(page("Refresh", `<meta http-equiv="refresh" content="0; url=http://127.0.0.1/">`+
			Text)) //nolint:errcheck // the client may be gone
	})
}

func slowOrLarge(m *http.ServeMux) {
	m.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	m.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "a") //nolint:errcheck // the client may be gone
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	endless := func(encoding string, wrap func(io.Writer) io.WriteCloser, piece []byte, most int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			var to io.Writer = w
			if wrap != nil {
				w.Header().Set("Content-Encoding", encoding)
				packer := wrap(w)
				defer packer.Close()
				to = packer
			}
			for n := 0; most == 0 || n < most; n += len(piece) {
				if _, err := to.Write(piece); err != nil {
					return
				}
			}
		}
	}
	zeros := make([]byte, 1<<20)
	m.HandleFunc("/endless", endless("", nil, bytes.Repeat([]byte("on and on "), 1000), 0))
	m.HandleFunc("/gzip-bomb", endless("gzip", gzipped, zeros, 256<<20))
	m.HandleFunc("/br-bomb", endless("br", brotlied, zeros, 48<<20))
	m.HandleFunc("/deflate-bomb", endless("deflate", zlibbed, zeros, 256<<20))
	m.HandleFunc("/fifty", endless("", nil, bytes.Repeat([]byte("<p>"+Text+"</p>\n"), 500), 50<<20))
	m.HandleFunc("/deep", say("text/html; charset=utf-8", "", []byte(strings.Repeat("<div>", 100_000)+Text)))
}

func liars(m *http.ServeMux) {
	m.HandleFunc("/gzip-lie", say("text/plain", "gzip", []byte(Text)))
	m.HandleFunc("/br-lie", say("text/plain", "br", []byte(strings.Repeat("\xff\x00", 100))))
	m.HandleFunc("/klingon", say("text/plain", "klingon", []byte(Text)))
	m.HandleFunc("/twice", say("text/plain", "gzip, gzip", []byte(Text)))
	m.HandleFunc("/png", say("text/html", "", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")))
	m.HandleFunc("/charset", say("text/html; charset=shift_jis", "",
		[]byte("<p>\x93\x94\x91\xe4 "+Text+" \xff\xfe\x81</p>")))
	m.HandleFunc("/cookie", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "7", Path: "/"})
		if r.FormValue("back") == "" {
			http.Redirect(w, r, "/cookie?back=1", http.StatusFound)
			return
		}
		fmt.Fprintf(w, "cookie: %q", r.Header.Get("Cookie"))
	})
	raw := func(path, answer string, endless bool) {
		m.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			for {
				if _, err := io.WriteString(conn, answer); err != nil || !endless {
					return
				}
				answer = strings.TrimPrefix(answer, "HTTP/1.1 200 OK\r\n")
			}
		})
	}
	raw("/long", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"+Text, false)
	raw("/short", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\n"+Text, false)
	raw("/garbage", "\x00\x01\x02 this is no HTTP\r\n\r\n", false)
	raw("/hangup", "", false)
	raw("/flood", "HTTP/1.1 200 OK\r\nX-Flood: "+strings.Repeat("y", 500)+"\r\n", true)
	raw("/continues", "HTTP/1.1 103 Early Hints\r\nX: "+strings.Repeat("y", 500)+"\r\n\r\n", true)
	raw("/chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\nzzz\r\n", false)
}
