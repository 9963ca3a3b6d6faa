// Package cassette plays what a model server said, from a readable file, to the
// real client code: tests of the adapters and of the command line use it.
//
// A file is a txtar archive. Its comment says what it shows. Its files:
//
//	request.json  the llm.Request to ask with; without it, one short question
//	config.json   how the adapter is set up, the adapter's test says what it may hold
//	facts.json    what the server says of the model, to GET /v1/models/NAME and to
//	              POST /api/show; without it, status 404
//	1.http …      the replies, in order: a status line, headers, an empty line, the
//	              body as it was sent
//	1.sent.json … the bodies that the adapter must send, and
//	events.txt    the events that must come out; both are written by
//	              go test -update and read by whoever reviews them
//
// It must not know any adapter.
package cassette

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// Reply is one reply of a server.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Cassette is one file.
type Cassette struct {
	// Comment says what it shows.
	Comment string
	// Request is what to ask with.
	Request llm.Request
	// Config is config.json, nil for none; Facts is facts.json.
	Config, Facts json.RawMessage
	Replies       []Reply
	// Sent are the golden bodies, one for each reply; Events the golden events.
	Sent   []string
	Events string
	files  *txtar.Archive
}

// question is asked where a file has no request.
var question = llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hello"}}, Choice: llm.ChoiceAuto}

// Load reads a file. The error says what is wrong with it.
func Load(path string) (*Cassette, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a cassette: %w", err)
	}
	c, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse reads the bytes of a file.
func Parse(data []byte) (*Cassette, error) {
	c := &Cassette{Request: question, files: txtar.Parse(data)}
	c.Comment = strings.TrimSpace(string(c.files.Comment))
	if request := c.file("request.json"); request != nil {
		decoder := json.NewDecoder(bytes.NewReader(request))
		decoder.DisallowUnknownFields()
		c.Request = llm.Request{}
		if err := decoder.Decode(&c.Request); err != nil {
			return nil, fmt.Errorf("request.json: %w", err)
		}
	}
	c.Config, c.Facts, c.Events = c.file("config.json"), c.file("facts.json"), string(c.file("events.txt"))
	for n := 1; ; n++ {
		data := c.file(strconv.Itoa(n) + ".http")
		if data == nil {
			break
		}
		reply, err := parseReply(data)
		if err != nil {
			return nil, fmt.Errorf("%d.http: %w", n, err)
		}
		c.Replies = append(c.Replies, reply)
		c.Sent = append(c.Sent, string(c.file(sentName(n))))
	}
	if len(c.Replies) == 0 {
		return nil, errors.New("there is no reply 1.http")
	}
	return c, nil
}

func sentName(n int) string { return strconv.Itoa(n) + ".sent.json" }

func (c *Cassette) file(name string) []byte {
	for _, f := range c.files.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// Format writes the file with its golden parts as they are in c.
func (c *Cassette) Format() []byte {
	for i, sent := range c.Sent {
		c.set(sentName(i+1), sent)
	}
	c.set("events.txt", c.Events)
	return txtar.Format(c.files)
}

func (c *Cassette) set(name, text string) {
	if at := slices.IndexFunc(c.files.Files, func(f txtar.File) bool { return f.Name == name }); at >= 0 {
		c.files.Files[at].Data = []byte(text)
		return
	}
	c.files.Files = append(c.files.Files, txtar.File{Name: name, Data: []byte(text)})
}

// parseReply reads a status line, headers and a body.
func parseReply(data []byte) (Reply, error) {
	head, body, found := bytes.Cut(data, []byte("\n\n"))
	if !found {
		head, body = bytes.TrimRight(data, "\n"), nil
	}
	first, rest, _ := strings.Cut(string(head), "\n")
	fields := strings.Fields(first)
	if len(fields) < 2 || !strings.HasPrefix(fields[0], "HTTP/") {
		return Reply{}, errors.New("it must begin like HTTP/1.1 200 OK")
	}
	status, err := strconv.Atoi(fields[1])
	if err != nil || status < 200 || status > 599 {
		return Reply{}, fmt.Errorf("%q is no status", fields[1])
	}
	header, err := textproto.NewReader(bufio.NewReader(strings.NewReader(rest + "\n\n"))).ReadMIMEHeader()
	if err != nil {
		return Reply{}, fmt.Errorf("read the headers: %w", err)
	}
	return Reply{Status: status, Header: http.Header(header), Body: body}, nil
}
