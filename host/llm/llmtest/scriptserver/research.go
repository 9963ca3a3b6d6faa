package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
)

// research hands each question of a message to an agent and cites what they report. An
// agent searches, then writes its report in two pieces, each held for a poke.
func (o options) research(r llmtest.Request) *llmtest.Reply {
	last := r.Last()
	switch leads := r.Offers("research_agent"); {
	case leads && last.Role == "tool":
		return conclusion(r)
	case leads:
		return handOut(last.Content)
	case last.Role == "tool":
		return o.report(last.Content)
	}
	return search(r)
}

// handOut calls an agent for each question of a text.
func handOut(text string) *llmtest.Reply {
	reply := llmtest.Answer().Text("I have that looked up.")
	n := 0
	for question := range strings.SplitAfterSeq(text, "?") {
		if question = strings.TrimSpace(question); question == "" {
			continue
		}
		args, err := json.Marshal(map[string]string{"task": question})
		if err != nil {
			return llmtest.Status(500, err.Error())
		}
		n++
		reply.ToolCall(fmt.Sprintf("call_%d", n), "research_agent", string(args))
	}
	return reply.Usage(20, 10)
}

// report says where the first thing that was found stands.
func (o options) report(found string) *llmtest.Reply {
	title, ref, ok := firstFound(found)
	if !ok {
		return llmtest.Answer().Text("I found ", "nothing.").Usage(30, 4)
	}
	reply, hold := llmtest.Answer(), o.holding(true, 0)
	for _, piece := range []string{"The guide ", fmt.Sprintf("is %s [%d].", title, ref)} {
		hold(reply)
		reply.Text(piece)
	}
	return reply.Usage(30, 8)
}

// conclusion cites the first source of each report.
func conclusion(r llmtest.Request) *llmtest.Reply {
	reply := llmtest.Answer()
	for _, m := range r.Body.Messages {
		if _, sources, ok := strings.Cut(m.Content, "\n\nSources:\n"); ok && m.Role == "tool" {
			number, title, _ := strings.Cut(strings.TrimPrefix(sources, "["), "] ")
			title, _, _ = strings.Cut(title, "\n")
			reply.Text("An agent found ", title, " ["+number+"]. ")
		}
	}
	return reply.Text("That is all.").Usage(40, 12)
}
