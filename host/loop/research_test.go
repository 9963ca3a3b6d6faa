package loop_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/loop"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
)

// answered runs a loop with agents and returns its packets, which keep the protocol.
func answered(t *testing.T, model llm.Model, tools ...tool.Tool) ([]packet.Packet, loop.Result) {
	t.Helper()
	log := journal.New("r_1", 1)
	var n atomic.Int64
	packet.RunEmitter(log).Emit(packet.At(0, 0), packet.RunStarted{UserMessageID: "u",
		Responses: []packet.Response{{MessageID: "m", Model: "m"}}})
	emit, documents := packet.NewEmitter(log, 0), cite.NewDocuments(nil)
	var specs []tool.Spec
	for _, tl := range tools {
		specs = append(specs, tl.Spec())
	}
	result := loop.Run(t.Context(), loop.Setup{
		Model: model, History: []llm.Message{{Role: llm.RoleUser, Text: "q"}}, Specs: specs, Research: true,
		Documents: documents, Emit: emit, Now: time.Now,
		Runner: toolrun.New(toolrun.Config{Tools: tools, Refs: toolrun.NewRefs(0), Documents: documents, Emit: emit,
			Now:   time.Now,
			NewID: func() string { return fmt.Sprintf("c%d", n.Add(1)) }}),
	})
	emit.Emit(packet.At(0, 0), packet.Stop{Reason: result.Reason})
	packet.RunEmitter(log).Emit(packet.At(0, 0), packet.Stop{Reason: result.Reason})
	log.Close()
	entries, err := log.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var packets []packet.Packet
	for _, e := range entries {
		packets = append(packets, e.Packet)
	}
	packettest.Require(t, packets, packettest.Stored(0, result.Text))
	return packets, result
}

func used(tokens int64) llm.Event { return llm.Usage{InputTokens: tokens, OutputTokens: 1} }

func TestWhatAnAgentUsesAndCallsCountsForTheAnswer(t *testing.T) {
	var asked []llm.Request
	model := searching{steps: [][]llm.Event{
		{llm.ToolCallDelta{Name: tool.ResearchAgent, ArgumentsDelta: `{"task":"look"}`}, used(1),
			llm.Finish{Reason: llm.FinishToolCalls}},
		{llm.ToolCallDelta{Name: "mail", ArgumentsDelta: `{}`}, used(10), llm.Finish{Reason: llm.FinishToolCalls}},
		{llm.Text{Delta: "Found."}, used(100), llm.Finish{Reason: llm.FinishStop}},
		{llm.Text{Delta: "Done."}, used(1000), llm.Finish{Reason: llm.FinishStop}},
	}, asked: &asked, plain: true}
	_, result := answered(t, model, labelled{"mail", tool.LabelPrivateData})
	if result.Usage.InputTokens != 1111 || result.Usage.OutputTokens != 4 {
		t.Errorf("used %+v", result.Usage)
	}
	if len(result.Inner) != 1 || result.Inner[0].Name != "mail" {
		t.Errorf("inner calls: %+v", result.Inner)
	}
	if len(result.Steps) != 2 || result.Steps[0].Calls[0].Text != "Found." {
		t.Errorf("steps: %+v", result.Steps)
	}
	if len(asked[1].Messages) != 2 || !strings.Contains(asked[1].Messages[0].Text, "research agent") ||
		asked[1].Messages[1].Text != "look" {
		t.Errorf("the agent was asked with %+v", asked[1].Messages)
	}
	for i, want := range [][]string{{"mail", tool.ResearchAgent}, {"mail"}, {"mail"}, {"mail", tool.ResearchAgent}} {
		var got []string
		for _, d := range asked[i].Tools {
			got = append(got, d.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("request %d offers %v, want %v", i, got, want)
		}
	}
}

// TestPrivateDataAndStrangersMeetAcrossAgents looks at each request: whether the
// provider's search could still be used.
func TestPrivateDataAndStrangersMeetAcrossAgents(t *testing.T) {
	answer := []llm.Event{llm.Text{Delta: "Done."}, llm.Finish{Reason: llm.FinishStop}}
	agent := []llm.Event{llm.ToolCallDelta{Name: tool.ResearchAgent, ArgumentsDelta: `{"task":"look"}`},
		llm.Finish{Reason: llm.FinishToolCalls}}
	served := []llm.Event{llm.ServerTool{Name: "web_search"}, llm.Text{Delta: "Found."},
		llm.Finish{Reason: llm.FinishStop}}
	for name, tc := range map[string]struct {
		steps [][]llm.Event
		tools []tool.Tool
		want  []bool
	}{
		"what the answer met holds inside": {[][]llm.Event{call("mail"), call("page"), agent, answer, answer},
			[]tool.Tool{labelled{"mail", tool.LabelPrivateData}, labelled{"page", tool.LabelUntrustedContent}},
			[]bool{false, false, true, true, true}},
		"what an agent may have met holds outside": {[][]llm.Event{agent, answer, answer},
			[]tool.Tool{labelled{"mail", tool.LabelPrivateData}}, []bool{false, false, true}},
		"a search inside holds outside": {[][]llm.Event{agent, served, call("mail"), answer},
			[]tool.Tool{labelled{"mail", tool.LabelPrivateData}}, []bool{false, false, true, true}},
		"without private data it stays": {[][]llm.Event{agent, served, call("page"), answer},
			[]tool.Tool{labelled{"page", tool.LabelUntrustedContent}}, []bool{false, false, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []llm.Request
			_, result := answered(t, searching{tc.steps, &asked, false}, tc.tools...)
			if result.Reason != packet.StopCompleted {
				t.Fatalf("%+v", result)
			}
			var got []bool
			for _, r := range asked {
				got = append(got, r.NoServerTools)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("withdrawn %v, want %v", got, tc.want)
			}
		})
	}
}

// panicking is a model whose second answer ends in a panic, in the middle of its
// reasoning.
type panicking struct{ searching }

func (m panicking) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	stream := m.searching.Stream(ctx, req)
	second := len(*m.asked) == 2
	return func(yield func(llm.Event, error) bool) {
		if second {
			yield(llm.Reasoning{Delta: "Hm."}, nil)
			panic("boom")
		}
		stream(yield)
	}
}

func TestAPanicInsideAnAgentCostsItsCallAndClosesItsBlocks(t *testing.T) {
	var asked []llm.Request
	packets, result := answered(t, panicking{searching{[][]llm.Event{
		{llm.ToolCallDelta{Name: tool.ResearchAgent, ArgumentsDelta: `{"task":"look"}`},
			llm.Finish{Reason: llm.FinishToolCalls}}, nil,
		{llm.Text{Delta: "Done."}, llm.Finish{Reason: llm.FinishStop}},
	}, &asked, true}}, labelled{"mail", tool.LabelPrivateData})
	if result.Reason != packet.StopCompleted || result.Text != "Done." || !result.Steps[0].Calls[0].Failed() {
		t.Errorf("%+v", result)
	}
	if !slices.ContainsFunc(packets, func(p packet.Packet) bool {
		_, done := p.Obj.(packet.ReasoningDone)
		return done && p.Placement.SubTurnIndex != nil
	}) {
		t.Error("the reasoning inside was not closed")
	}
}
