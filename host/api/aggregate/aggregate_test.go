package aggregate

import (
	"testing"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

func TestARunOfTwoModelsWithParallelCalls(t *testing.T) {
	var a Aggregator
	add := func(place packet.Placement, obj packet.Obj) {
		a.Add(packet.Packet{Run: "r", Epoch: 2, Placement: place, Obj: obj})
	}
	m := func(model, turn, tab int) packet.Placement { return packet.At(turn, tab).ForModel(model) }
	doc := packet.Document{ID: "d1", Title: "One"}
	add(packet.At(0, 0), packet.SessionCreated{SessionID: "s"})
	add(packet.At(0, 0), packet.RunStarted{UserMessageID: "u",
		Responses: []packet.Response{{ModelIndex: 0, MessageID: "m0", Model: "x"},
			{ModelIndex: 1, MessageID: "m1", Model: "y"}}})
	add(m(0, 0, 0), packet.ToolStart{CallID: "a", Tool: "search"})
	add(m(0, 0, 1), packet.ToolStart{CallID: "b", Tool: "read"})
	add(m(0, 0, 1), packet.ToolArgs{CallID: "b", Arguments: []byte(`{"x":1}`)})
	add(m(1, 0, 0), packet.MessageDelta{Content: "other"})
	add(m(0, 0, 0), packet.ToolDocuments{CallID: "a", Documents: []packet.Document{doc}})
	add(m(0, 0, 1), packet.ToolDocuments{CallID: "b", Documents: []packet.Document{doc, {ID: "d2"}}})
	add(m(0, 0, 1), packet.ToolOutput{CallID: "b", Delta: "out"})
	add(m(0, 0, 1), packet.ToolError{CallID: "b", Kind: packet.ToolErrorFailed, Message: "no"})
	add(m(0, 0, 1), packet.SectionEnd{Outcome: packet.OutcomeError, DurationMS: 5})
	add(m(0, 0, 0), packet.SectionEnd{Outcome: packet.OutcomeOK, DurationMS: 7})
	add(m(0, 0, 0), packet.Usage{InputTokens: 3, OutputTokens: 1})
	add(m(0, 1, 0), packet.CitationInfo{CitationNumber: 1, Ref: 4, Document: doc})
	add(m(0, 1, 0), packet.MessageDelta{Content: "an"})
	add(m(0, 1, 0), packet.MessageDelta{Content: "swer"})
	add(m(0, 1, 0), packet.Usage{InputTokens: 4, OutputTokens: 2})
	add(m(0, 1, 0), packet.Unknown{Name: "later"})
	add(m(0, 1, 0), packet.Stop{Reason: packet.StopCompleted})
	add(m(1, 0, 0), packet.Error{Code: packet.CodeModelAuth, Message: "key"})
	add(m(1, 0, 0), packet.Stop{Reason: packet.StopError})
	add(packet.At(0, 0), packet.Stop{Reason: packet.StopCompleted})

	run := a.Run()
	if run.Run != "r" || run.Epoch != 2 || run.SessionID != "s" || run.UserMessageID != "u" ||
		run.StopReason != packet.StopCompleted || len(run.Messages) != 2 {
		t.Fatalf("run %+v", run)
	}
	x, y := run.Messages[0], run.Messages[1]
	if x.Text != "answer" || x.MessageID != "m0" || x.Usage.InputTokens != 7 || x.Usage.OutputTokens != 3 ||
		len(x.Documents) != 2 || len(x.Citations) != 1 || x.Error != nil {
		t.Errorf("first answer %+v", x)
	}
	if len(x.ToolCalls) != 2 {
		t.Fatalf("calls %+v", x.ToolCalls)
	}
	search, read := x.ToolCalls[0], x.ToolCalls[1]
	if search.Outcome != packet.OutcomeOK || search.DurationMS != 7 || search.Error != nil {
		t.Errorf("search %+v", search)
	}
	if read.Outcome != packet.OutcomeError || read.Output != "out" || string(read.Arguments) != `{"x":1}` ||
		read.Error == nil || read.Error.Message != "no" {
		t.Errorf("read %+v", read)
	}
	if y.Text != "other" || y.Error == nil || y.StopReason != packet.StopError || y.ToolCalls == nil ||
		y.Documents == nil {
		t.Errorf("second answer %+v", y)
	}
}
