package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/bulkhead-host/bulkhead/host/api/aggregate"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// Question is one message of a conversation.
type Question struct {
	Text string
	// Session is the conversation to go on with, "" for a new one.
	Session string
	// Agent is the name of the agent that answers, "" for none.
	Agent string
	// Model is the model's name, "" for the agent's, or the default.
	Model string
	// Tools are the tools that may be used; nil for all.
	Tools []string
	// Force is the tool that must be used, "" for none.
	Force string
}

// ErrStopped is returned by Chat after the run was stopped from here.
var ErrStopped = errors.New("the run was stopped; what was written is kept")

// Chat asks and writes the answer as it comes. When ctx is done first, it stops
// the run and writes what still comes to its end.
func Chat(ctx context.Context, o Options, c *Client, q Question) error {
	res, err := c.ask(ctx, q)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	show := newTranscript(o)
	stopped := false
	err = c.follow(ctx, res.Body, &stopped, show.add)
	if err != nil {
		return err
	}
	return show.end(stopped)
}

// ask sends the question and returns the run's event stream. It outlives ctx, so
// that the end of a stopped run can be read.
func (c *Client) ask(ctx context.Context, q Question) (*http.Response, error) {
	body := map[string]any{"request_id": uuid.NewString(), "text": q.Text, "forced_tool": q.Force}
	if zone := localZone(os.Getenv); zone != "" {
		body["time_zone"] = zone
	}
	agent, err := c.agentID(ctx, q.Agent)
	if err != nil {
		return nil, err
	}
	if agent != "" {
		body["agent_id"] = agent
	}
	if q.Model != "" {
		body["models"] = []string{q.Model}
	}
	if q.Tools != nil {
		body["tools"] = q.Tools
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	session := q.Session
	if session == "" {
		session = "new"
	}
	return c.request(context.WithoutCancel(ctx), http.MethodPost, "/sessions/"+pathEscape(session)+"/messages",
		"application/json", bytes.NewReader(data), "text/event-stream")
}

// follow reads packets until the run ends. When ctx is done it asks the host,
// once, to stop the run.
func (c *Client) follow(ctx context.Context, stream io.Reader, stopped *bool, add func(packet.Packet, []byte)) error {
	type line struct {
		data []byte
		err  error
	}
	lines := make(chan line)
	quit := make(chan struct{})
	defer close(quit)
	go func() { // it ends with the stream, which the caller closes, or by quit
		in := bufio.NewReader(stream)
		for {
			data, err := in.ReadBytes('\n')
			select {
			case lines <- line{data, err}:
			case <-quit:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	run, done, stopping := "", ctx.Done(), false
	for {
		if stopping && !*stopped && run != "" {
			*stopped = true
			if err := c.call(context.WithoutCancel(ctx), http.MethodPost, "/runs/"+pathEscape(run)+"/stop", nil,
				nil); err != nil {
				return err
			}
		}
		select {
		case <-done:
			done, stopping = nil, true
		case l := <-lines:
			if l.err != nil {
				return fmt.Errorf("the answer broke off: %w", l.err)
			}
			data, ok := bytes.CutPrefix(l.data, []byte("data: "))
			if !ok {
				continue
			}
			var p packet.Packet
			data = bytes.TrimSuffix(data, []byte("\n"))
			if err := p.UnmarshalJSON(data); err != nil {
				return err
			}
			run = p.Run
			add(p, data)
			if _, stop := p.Obj.(packet.Stop); stop && p.Placement.ModelIndex == nil {
				return nil
			}
		}
	}
}

// transcript writes a run for a person, or its packets for a program.
type transcript struct {
	o     Options
	whole aggregate.Aggregator
	marks markers
	// titles are those of the calls, by id and by place, until they end.
	calls map[packet.Key]*shownCall
	// open tells that the answer's last line is not ended.
	open bool
}

type shownCall struct {
	title, detail string
	documents     int
	failure       string
}

func newTranscript(o Options) *transcript {
	return &transcript{o: o, calls: make(map[packet.Key]*shownCall)}
}

func (t *transcript) add(p packet.Packet, data []byte) {
	t.whole.Add(p)
	if t.o.JSON {
		fmt.Fprintf(t.o.Out, "%s\n", data) // JSON, for a program
		return
	}
	switch obj := p.Obj.(type) {
	case packet.CitationInfo:
		t.marks.announce(obj.CitationNumber)
	case packet.MessageDelta:
		t.text(t.marks.write(obj.Content))
	case packet.MessageEnd:
		t.text(t.marks.end())
		t.endLine()
	case packet.Notice:
		printf(t.o.Err, "note: %s\n", obj.Message)
	default:
		t.tool(p.Placement.Key(), p.Obj)
	}
}

func (t *transcript) text(s string) {
	if s != "" {
		printf(t.o.Out, "%s", s)
		t.open = !strings.HasSuffix(s, "\n")
	}
}

func (t *transcript) endLine() {
	if t.open {
		printf(t.o.Out, "\n")
		t.open = false
	}
}

// tool writes one line for each tool call, when it is over.
func (t *transcript) tool(place packet.Key, obj packet.Obj) {
	if o, ok := obj.(packet.ToolStart); ok {
		title := o.Title
		if title == "" {
			title = o.Tool
		}
		t.calls[place] = &shownCall{title: title}
		return
	}
	c := t.calls[place]
	if c == nil {
		return
	}
	switch o := obj.(type) {
	case packet.ToolArgs:
		c.detail = briefArguments(o.Arguments)
	case packet.ToolDocuments:
		c.documents += len(o.Documents)
	case packet.ToolError:
		c.failure = o.Message
	case packet.SectionEnd:
		printf(t.o.Err, "%s\n", c.line(o))
		delete(t.calls, place)
	}
}

func (c *shownCall) line(end packet.SectionEnd) string {
	parts := []string{c.title + ":"}
	if c.detail != "" {
		parts = append(parts, c.detail+",")
	}
	switch {
	case c.failure != "":
		parts = append(parts, c.failure)
	case end.Outcome != packet.OutcomeOK:
		parts = append(parts, string(end.Outcome))
	case c.documents == 1:
		parts = append(parts, "1 document,")
	case c.documents > 1:
		parts = append(parts, fmt.Sprintf("%d documents,", c.documents))
	}
	if end.Outcome == packet.OutcomeOK {
		parts = append(parts, fmt.Sprintf("%.1f s", float64(end.DurationMS)/1000))
	}
	return strings.Join(parts, " ")
}

// briefArguments shows a call's arguments in one short line.
func briefArguments(arguments json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(arguments, &fields) == nil && len(fields) == 1 {
		for _, v := range fields {
			if list, ok := v.([]any); ok {
				var words []string
				for _, w := range list {
					words = append(words, fmt.Sprintf("%q", fmt.Sprint(w)))
				}
				return shorten(strings.Join(words, " "))
			}
			return shorten(fmt.Sprintf("%q", fmt.Sprint(v)))
		}
	}
	return shorten(string(arguments))
}

// shorten cuts a text for one line.
func shorten(s string) string {
	const most = 100
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > most {
		r = append(r[:most-1], '…')
	}
	return string(r)
}

// end writes the sources, and returns why there is no whole answer.
func (t *transcript) end(stopped bool) error {
	run := t.whole.Run()
	if !t.o.JSON {
		t.endLine()
		t.sources(run)
		if run.SessionID != "" {
			printf(t.o.Err, "session %s\n", run.SessionID)
		}
	}
	switch {
	case stopped && run.StopReason == packet.StopUserCancelled:
		return ErrStopped
	case run.StopReason == packet.StopCompleted, run.StopReason == packet.StopAwaitingUser:
		return nil
	}
	for _, m := range run.Messages {
		if m.Error != nil {
			return errors.New(m.Error.Message)
		}
	}
	return fmt.Errorf("the run ended as %s; what was written is kept", run.StopReason)
}

func (t *transcript) sources(run aggregate.Run) {
	for _, m := range run.Messages {
		if len(m.Citations) == 0 {
			continue
		}
		printf(t.o.Out, "\nSources\n")
		for _, c := range m.Citations {
			where := c.Document.URL
			if where == "" {
				where = c.Document.Source
			}
			printf(t.o.Out, "[%d] %s (%s)\n", c.Number, c.Document.Title, where)
		}
	}
}
