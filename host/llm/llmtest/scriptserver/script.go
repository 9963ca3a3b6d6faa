package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
)

// pokes counts words that may go. Where several replies wait for one it is for the one that
// began last: one before it may have lost its client already and not know.
type pokes struct {
	mu      sync.Mutex // guards what follows
	left    int
	began   int           // replies that wait for pokes, so far
	waiting map[int]bool  // those that wait now, by their number
	changed chan struct{} // closed and replaced when one that waits may go on
}

func newPokes() *pokes { return &pokes{waiting: map[int]bool{}, changed: make(chan struct{})} }

func (p *pokes) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += n
	p.wake()
}

// wake lets all that wait look again; mu is held.
func (p *pokes) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// begin returns what a reply that begins now waits with.
func (p *pokes) begin() (take func(context.Context) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.began++
	reply := p.began
	return func(ctx context.Context) error { return p.take(ctx, reply) }
}

// take waits for a word of a reply that may go.
func (p *pokes) take(ctx context.Context, reply int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[reply] = true
	defer func() {
		delete(p.waiting, reply)
		p.wake() // another is the last that waits now
	}()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.left > 0 && reply == slices.Max(slices.Collect(maps.Keys(p.waiting))) {
			p.left--
			return nil
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-changed:
		}
		p.mu.Lock()
	}
}

// options are what the built-in scripts can be told.
type options struct {
	words    int
	interval time.Duration
	pokes    *pokes
}

// entry is one reply of a script file.
type entry struct {
	// Reasoning and Text are pieces, one chunk each.
	Reasoning []string `json:"reasoning"`
	Text      []string `json:"text"`
	ToolCalls []struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"tool_calls"`
	// Poke holds each piece of text for a POST /poke; IntervalMS spaces them.
	Poke       bool   `json:"poke"`
	IntervalMS int    `json:"interval_ms"`
	Usage      [2]int `json:"usage"`
	Finish     string `json:"finish"`
	// Status and Body make an error of the reply; CutAfter breaks it after so many
	// bytes; Hang never answers.
	Status   int    `json:"status"`
	Body     string `json:"body"`
	CutAfter int    `json:"cut_after"`
	Hang     bool   `json:"hang"`
}

// scripted returns what makes the replies.
func scripted(name string, o options) (func(llmtest.Request) *llmtest.Reply, error) {
	switch name {
	case "hello":
		return func(llmtest.Request) *llmtest.Reply {
			return llmtest.Answer().Text("Hello ", "from ", "the ", "script.").Usage(10, 4)
		}, nil
	case "slow":
		return o.slow, nil
	case "reason":
		return func(llmtest.Request) *llmtest.Reply {
			return llmtest.Answer().Reasoning("First I think. ", "Then I answer.").Text("The ", "answer.").Usage(10, 9)
		}, nil
	case "search":
		return search, nil
	case "research":
		return o.research, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	return o.fromFile(data)
}

// slow is one long answer, word by word.
func (o options) slow(llmtest.Request) *llmtest.Reply {
	reply := llmtest.Answer()
	hold := o.holding(o.interval == 0, o.interval)
	for i := range o.words {
		hold(reply)
		reply.Text(fmt.Sprintf("word%d ", i+1))
	}
	return reply.Usage(10, o.words)
}

// holding returns what holds a reply that begins now before its next word.
func (o options) holding(poke bool, interval time.Duration) func(*llmtest.Reply) {
	switch {
	case poke:
		take := o.pokes.begin()
		return func(r *llmtest.Reply) { r.Wait(take) }
	case interval > 0:
		return func(r *llmtest.Reply) { r.Pause(interval) }
	}
	return func(*llmtest.Reply) {}
}

// search calls internal_search, then quotes the first thing that was found.
func search(r llmtest.Request) *llmtest.Reply {
	last := r.Last()
	if last.Role != "tool" && r.Offers("internal_search") {
		args, err := json.Marshal(map[string]any{"queries": []string{last.Content}})
		if err != nil {
			return llmtest.Status(500, err.Error())
		}
		return llmtest.Answer().Reasoning("I should look that up.").Text("I look that up.").ToolCall("call_1",
			"internal_search", string(args)).Usage(20, 10)
	}
	title, ref, ok := firstFound(last.Content)
	if !ok {
		return llmtest.Answer().Text("I found ", "nothing.").Usage(30, 4)
	}
	return llmtest.Answer().Text("It stands in ", title, fmt.Sprintf(" [%d]", ref), ".").Usage(30, 8)
}

// firstFound reads a result of internal_search.
func firstFound(result string) (title string, ref int, ok bool) {
	var found struct {
		Results []struct {
			Ref   int    `json:"ref"`
			Title string `json:"title"`
		} `json:"results"`
	}
	if json.Unmarshal([]byte(result), &found) != nil || len(found.Results) == 0 {
		return "", 0, false
	}
	return found.Results[0].Title, found.Results[0].Ref, true
}

// fromFile plays the entries one after another and repeats the last.
func (o options) fromFile(data []byte) (func(llmtest.Request) *llmtest.Reply, error) {
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	var entries []entry
	if err := decoder.Decode(&entries); err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("the script has no reply")
	}
	var mu sync.Mutex
	next := 0
	return func(llmtest.Request) *llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		e := entries[min(next, len(entries)-1)]
		next++
		return o.reply(e)
	}, nil
}

func (o options) reply(e entry) *llmtest.Reply {
	switch {
	case e.Hang:
		return llmtest.Hang()
	case e.Status != 0:
		return llmtest.Status(e.Status, e.Body)
	}
	reply := llmtest.Answer().Reasoning(e.Reasoning...)
	hold := o.holding(e.Poke, time.Duration(e.IntervalMS)*time.Millisecond)
	for _, text := range e.Text {
		hold(reply)
		reply.Text(text)
	}
	for _, call := range e.ToolCalls {
		reply.ToolCall(call.ID, call.Name, string(call.Arguments))
	}
	if e.Usage != [2]int{} {
		reply.Usage(e.Usage[0], e.Usage[1])
	}
	if e.Finish != "" {
		reply.Finish(e.Finish)
	}
	if e.CutAfter > 0 {
		reply.Cut(e.CutAfter)
	}
	return reply
}
