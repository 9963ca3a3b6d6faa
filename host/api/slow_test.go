package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

func TestALateReaderGetsALongRunInFramesOfBoundedSize(t *testing.T) {
	h := newHost(t)
	answer := llmtest.Answer()
	for i := range 40 {
		answer.Text(fmt.Sprintf("%03d", i) + strings.Repeat("x", 40<<10))
	}
	h.model.Add(answer)
	var ack rest.PostAck
	h.call("POST", newMessages, sendJSONBody("What?"), 202, &ack)
	h.waitFor(ack.Run)
	w := h.dial()
	w.write(`{"type":"resume","id":1,"run":"` + ack.Run + `","epoch":1,"after_seq":0}`)
	var packets []packet.Packet
	for len(packets) == 0 || !rest.EndsRun(packets[len(packets)-1]) {
		data := w.frame()
		if len(data) > frame.MaxBatchBytes+64<<10 {
			t.Fatalf("a frame of %d bytes", len(data))
		}
		var f frameIn
		decode(t, data, &f)
		packets = append(packets, f.Packets...)
	}
	checkSeq(t, packets, 0)
}

// A client that does not read keeps no more than one frame of a run waiting in
// this process: the cursor moves on only when the socket has taken what it read.
func TestAReaderThatStopsHoldsNothing(t *testing.T) {
	h := newHost(t)
	answer := llmtest.Answer()
	for range 300 {
		answer.Text(strings.Repeat("x", 32<<10))
	}
	h.model.Add(answer)
	idle := h.dial()
	idle.write(sendFrameText("1", "What?"))
	if f := idle.read(); f.Type != "ack" { // from here on it reads no more
		t.Fatal(f)
	} else {
		h.waitFor(f.Run) // the run does not wait for it
	}
	other := h.dial()
	if pong := other.ask(`{"type":"ping","id":1}`); pong.Type != "pong" {
		t.Errorf("beside it: %+v", pong)
	}
	idle.conn.CloseNow()
}

func TestBatchesKeepOrderAndSize(t *testing.T) {
	var entries []journal.Entry
	for i := range 10 {
		data, err := json.Marshal(strings.Repeat("x", 60<<10))
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, journal.Entry{Seq: int64(i + 1), JSON: data})
	}
	entries[3].JSON = []byte(`"` + strings.Repeat("y", 2*frame.MaxBatchBytes) + `"`)
	next := int64(1)
	for len(entries) > 0 {
		batch, rest := frame.NextBatch(entries)
		if len(batch) == 0 {
			t.Fatal("an empty batch")
		}
		sent := frame.Packets(batch)
		if len(batch) > 1 && len(sent) > frame.MaxBatchBytes+64 {
			t.Errorf("a frame of %d packets has %d bytes", len(batch), len(sent))
		}
		var f struct {
			Type    string
			Packets []string
		}
		decode(t, sent, &f)
		if f.Type != "packets" || len(f.Packets) != len(batch) {
			t.Errorf("frame %s with %d packets", f.Type, len(f.Packets))
		}
		for _, e := range batch {
			if e.Seq != next {
				t.Fatalf("seq %d, want %d", e.Seq, next)
			}
			next++
		}
		entries = rest
	}
}
