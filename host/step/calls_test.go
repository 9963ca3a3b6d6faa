package step

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// asked runs a step of a model that was told of tools.
func asked(t *testing.T, choice llm.Choice, tools []llm.ToolDef, events ...llm.Event) Output {
	t.Helper()
	return decoded(t, llm.Request{Tools: tools, Choice: choice}, events...)
}

func decoded(t *testing.T, request llm.Request, events ...llm.Event) Output {
	t.Helper()
	log := journal.New("r_1", 1)
	defer log.Close()
	out, err := Decode(t.Context(), Input{
		Model:   said{events: append(events, llm.Finish{Reason: llm.FinishStop})},
		Request: request,
		Emit:    packet.NewEmitter(log, 0), Answer: cite.NewAnswer(cite.NewDocuments(nil)),
		Now: func() time.Time { return time.Unix(0, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var search = llm.ToolDef{Name: "search", Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"},"limit":{"type":"integer"}},"required":["q"]}`)}

func TestANativeCallWinsOverItsCopyInTheText(t *testing.T) {
	out := asked(t, llm.ChoiceAuto, []llm.ToolDef{search},
		llm.Text{Delta: `[TOOL_CALLS]search[ARGS]{"q":"a","limit":2}[TOOL_CALLS]search[ARGS]{"q":"b"}`},
		llm.ToolCallDelta{Name: "search", ArgumentsDelta: `{ "limit": 2, "q": "a" }`})
	if len(out.Calls) != 2 || out.Calls[0].Arguments != `{ "limit": 2, "q": "a" }` ||
		out.Calls[1].Arguments != `{"q":"b"}` {
		t.Errorf("got %+v", out.Calls)
	}
}

func TestTextThatIsOnlyACallOfAKnownToolIsACall(t *testing.T) {
	for _, text := range []string{`search {"q":`, `{"name":"search","arguments":{"q":"a","limit":"3"}}`} {
		out := asked(t, llm.ChoiceAuto, []llm.ToolDef{search}, llm.Text{Delta: text})
		if called := len(out.Calls) == 1; called == (out.Text == text) {
			t.Errorf("%s: got %+v", text, out)
		}
	}
	out := asked(t, llm.ChoiceAuto, []llm.ToolDef{search},
		llm.Text{Delta: `{"name":"search","arguments":{"q":"a","limit":"3"}}`})
	if len(out.Calls) != 1 || out.Calls[0].Arguments != `{"q":"a","limit":3}` {
		t.Errorf("got %+v", out.Calls)
	}
	if out := asked(t, llm.ChoiceRequired, []llm.ToolDef{search}, llm.Text{Delta: `{"q":"a"}`}); len(out.Calls) != 1 {
		t.Errorf("required: got %+v", out)
	}
	if out := asked(t, llm.ChoiceNone, nil, llm.Text{Delta: `{"name":"search","arguments":{"q":"a"}}`}); len(out.Calls) != 0 || out.Text == "" {
		t.Errorf("none: got %+v", out)
	}
}

func TestBareCallsOfWithheldToolsAreStrippedUnderNone(t *testing.T) {
	for text, calls := range map[string]int{
		`{"name":"search","arguments":{"q":"a"}}`:                         1,
		"```json\n{\"name\":\"search\",\"arguments\":{\"q\":\"a\"}}\n```": 1,
		`{"name":"other","arguments":{"q":"a"}}`:                          0,
		`{"answer":42}`:                                                   0,
	} {
		out := decoded(t, llm.Request{Choice: llm.ChoiceNone, Withheld: []llm.ToolDef{search}}, llm.Text{Delta: text})
		if len(out.Calls) != calls || (out.Text == "") != (calls > 0) {
			t.Errorf("%s: %+v", text, out)
		}
	}
}

func TestMarkedCallsAreStrippedUnderNone(t *testing.T) {
	out := asked(t, llm.ChoiceNone, nil, llm.Text{Delta: "Enough.<tool_call>{\"name\":\"search\"}</tool_call>"})
	if out.Text != "Enough." || len(out.Calls) != 1 {
		t.Errorf("got %+v", out)
	}
}

func TestNativeArgumentsStayAsTheyWereWritten(t *testing.T) {
	for _, in := range []string{`{'q': 'a',}`, `"{\"q\":\"a\"}"`, `{"q":"a"`, `no idea`, `{ "limit": 1, "q": "a" }`} {
		out := asked(t, llm.ChoiceAuto, []llm.ToolDef{search}, llm.ToolCallDelta{Name: "search", ArgumentsDelta: in})
		if len(out.Calls) != 1 || out.Calls[0].Arguments != in {
			t.Errorf("%s: got %+v", in, out.Calls)
		}
	}
}

func TestALoneCloserTellsThatThePromptOpensReasoning(t *testing.T) {
	out := asked(t, llm.ChoiceAuto, nil, llm.Text{Delta: "I think.\n</think>\nSo."})
	if !out.ReasoningOpen || strings.Contains(out.Text, "think>") {
		t.Errorf("got %+v", out)
	}
}
