package openai_test

import (
	"reflect"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// recorded is a turn of reasoning, narration and two parallel calls.
func recorded() *llmtest.Reply {
	return llmtest.Answer().
		Reasoning("The person ", "asks for two things.").
		Text("I look for both. ", "Один момент 🙂.").
		ToolCall("call_1", "internal_search", `{"queries":`, `["capability"]}`).
		ToolCall("call_2", "internal_search", `{"queries":["grant"]}`).
		Usage(120, 34)
}

// TestCutAtEveryByte serves one recorded stream cut at every offset, in both ways
// in which a stream can end: the answer is whole, or the error says that it
// broke off and what came before is a beginning of the whole.
func TestCutAtEveryByte(t *testing.T) {
	whole := recorded().Stream()
	if len(whole) > 4<<10 {
		t.Fatalf("the recorded stream has %d bytes", len(whole))
	}
	e := newEndpoint(t, nil, recorded())
	want, err := collect(t.Context(), e.model, question)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= len(whole); n++ {
		for _, hard := range []bool{false, true} {
			reply := llmtest.Raw(whole).EndAfter(n)
			if hard {
				reply = llmtest.Raw(whole).Cut(n)
			}
			e.Add(reply)
			got, err := collect(t.Context(), e.model, question)
			checkCut(t, n, len(whole), want, got, err)
		}
	}
	if len(e.waits) > 0 {
		// A connection that breaks with the headers may be seen before them.
		t.Logf("%d retries", len(e.waits))
	}
}

func checkCut(t *testing.T, n, size int, want, got []llm.Event, err error) {
	t.Helper()
	if err == nil {
		// The usage may be lost when the cut is after the finish.
		j, w := join(t, got), join(t, want)
		if j.Usage == nil {
			w.Usage = nil
		}
		if !reflect.DeepEqual(j, w) {
			t.Fatalf("cut at %d of %d: no error, but got %+v", n, size, j)
		}
		return
	}
	if code := asError(t, err).Code; code != packet.CodeModelInterrupted &&
		(code != packet.CodeModelUnreachable || len(got) > 0) {
		t.Fatalf("cut at %d of %d: %v", n, size, err)
	}
	if len(got) > len(want) || !reflect.DeepEqual(got, want[:len(got):len(got)]) && len(got) > 0 {
		t.Fatalf("cut at %d of %d: events are no beginning: %+v", n, size, got)
	}
}

func TestAnySplitGivesTheSameEvents(t *testing.T) {
	e := newEndpoint(t, nil, recorded())
	want, err := collect(t.Context(), e.model, question)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 3, 5, 17, 64, 1000} {
		e.Add(recorded().Split(n))
		got, err := collect(t.Context(), e.model, question)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("split %d: %v, got %+v", n, err, got)
		}
	}
}
