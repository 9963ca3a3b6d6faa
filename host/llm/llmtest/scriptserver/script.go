package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
)

// pokes counts words that may go.
type pokes struct {
	mu      sync.Mutex // guards what follows
	left    int
	changed chan struct{} // closed and replaced when left grows
}

func newPokes() *pokes { return &pokes{changed: make(chan struct{})} }

func (p *pokes) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += n
	close(p.changed)
	p.changed = make(chan struct{})
}

// take waits for a word that may go.
func (p *pokes) take(ctx context.Context) error {
	for {
		p.mu.Lock()
		changed := p.changed
		if p.left > 0 {
			p.left--
			p.mu.Unlock()
			return nil
		}
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
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
	for i := range o.words {
		o.hold(reply, o.interval == 0, o.interval)
		reply.Text(fmt.Sprintf("word%d ", i+1))
	}
	return reply.Usage(10, o.words)
}

func (o options) hold(reply *llmtest.Reply, poke bool, interval time.Duration) {
	if poke {
		reply.Wait(o.pokes.take)
	} else if interval > 0 {
		reply.Pause(interval)
	}
}

// search calls internal_search, then quotes the first thing that was found.
func search(r llmtest.Request) *llmtest.Reply {
	last := r.Last()
	if last.Role != "tool" && r.Offers("internal_search") {
		args, err := json.Marshal(map[string]any{"queries": []string{last.Content}})
		if err != nil {
			return llmtest.Status(500, err.Error())
		}
		return llmtest.Answer().Reasoning("I should look that up.").Text("I look that up.").ToolCall("call_1", "internal_search", string(args)).Usage(20, 10)
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
	for _, text := range e.Text {
		o.hold(reply, e.Poke, time.Duration(e.IntervalMS)*time.Millisecond)
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
