package store

import (
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/identity"
)

func TestAppendRefusesGapsRepeatsAndOtherEpochs(t *testing.T) {
	s := openTest(t, Options{})
	ada := newUser(t, s, "ada")
	b := ask(t, s, ada, "", "hello")
	run := b.Run.ID
	if err := s.AppendPackets(t.Context(), run, 1, packetsFrom(run, 1, 3)); err != nil {
		t.Fatal(err)
	}
	broken := packetsFrom(run, 4, 2)
	broken[1].Seq = 6
	for name, entries := range map[string][]PacketEntry{"gap": packetsFrom(run, 5, 1), "repeat": packetsFrom(run, 3, 1), "gap inside": broken, "zero": packetsFrom(run, 0, 1)} {
		var gap *GapError
		if err := s.AppendPackets(t.Context(), run, 1, entries); !errors.As(err, &gap) || !errors.Is(err, ErrGap) || gap.Run != run {
			t.Errorf("%s: got %v, want a *GapError", name, err)
		}
	}
	expectError(t, s.AppendPackets(t.Context(), run, 2, packetsFrom(run, 4, 1)), ErrEpoch)
	expectError(t, s.AppendPackets(t.Context(), "r_x", 1, packetsFrom(run, 1, 1)), ErrNotFound)
	complete(t, s, b, "hi")
	expectError(t, s.AppendPackets(t.Context(), run, 1, packetsFrom(run, 4, 1)), ErrFinished)

	for _, c := range []struct {
		after int64
		limit int
		want  []PacketEntry
	}{{0, 0, packetsFrom(run, 1, 3)}, {1, 1, packetsFrom(run, 2, 1)}, {3, 0, nil}, {-5, 2, packetsFrom(run, 1, 2)}, {1<<63 - 1, 0, nil}} {
		epoch, got, err := s.Packets(t.Context(), ada, run, c.after, c.limit)
		if err != nil || epoch != 1 || !reflect.DeepEqual(got, c.want) {
			t.Errorf("after %d, limit %d: got epoch %d, %v, %v", c.after, c.limit, epoch, got, err)
		}
	}
	expectSound(t, s)
}

// TestRefusedAppendSpoilsNoOtherInItsCommit puts a good and a bad append into
// one transaction.
func TestRefusedAppendSpoilsNoOtherInItsCommit(t *testing.T) {
	s := openTest(t, Options{})
	ada := newUser(t, s, "ada")
	good, bad := ask(t, s, ada, "", "a").Run.ID, ask(t, s, ada, "", "b").Run.ID
	jobs := []*appendJob{
		{run: bad, epoch: 1, entries: packetsFrom(bad, 2, 1)},
		{run: good, epoch: 1, entries: packetsFrom(good, 1, 2)},
		{run: good, epoch: 1, entries: packetsFrom(good, 3, 1)},
	}
	s.commit.write(jobs)
	expectError(t, jobs[0].err, ErrGap)
	if jobs[1].err != nil || jobs[2].err != nil {
		t.Errorf("got %v and %v", jobs[1].err, jobs[2].err)
	}
	if _, got, err := s.Packets(t.Context(), ada, good, 0, 0); err != nil || !reflect.DeepEqual(got, packetsFrom(good, 1, 3)) {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestFailedCommitIsToldToThoseWhoWait fills the file up to its limit.
func TestFailedCommitIsToldToThoseWhoWait(t *testing.T) {
	s := openTest(t, Options{})
	ada := newUser(t, s, "ada")
	run := ask(t, s, ada, "", "a").Run.ID
	s.db.MaxSize = 64 << 10
	big := []PacketEntry{{Seq: 1, JSON: make([]byte, 1<<20)}}
	if err := s.AppendPackets(t.Context(), run, 1, big); err == nil {
		t.Fatal("an append beyond the limit was acknowledged")
	}
	s.db.MaxSize = 0
	if err := s.AppendPackets(t.Context(), run, 1, packetsFrom(run, 1, 1)); err != nil {
		t.Errorf("the log does not go on: %v", err)
	}
}

func TestFinishIsOnceAndFirstWins(t *testing.T) {
	s := openTest(t, Options{})
	ada := newUser(t, s, "ada")
	b, err := s.BeginRun(t.Context(), ada, BeginRun{Text: "hello", Models: []string{"x", "y"}})
	if err != nil {
		t.Fatal(err)
	}
	m := Message{ID: b.Responses[0].ID, Text: "hi", Status: StatusCompleted, Owner: "u_forged", Session: "s_forged", Parent: "m_forged",
		Steps:     []Step{{Text: "hi", Calls: []Call{{ID: "c", Name: "t", Arguments: "{"}}, Results: []Result{{CallID: "c", Name: "t", Text: "r"}}}},
		Citations: []Citation{{Number: 1, Ref: 7, Document: Document{ID: "d", Ref: 7}}}}
	call := ToolCall{ID: "c", Tool: "t", Outcome: "ok", Arguments: json.RawMessage(`{"a":1}`), HostCalls: json.RawMessage(`[broken`)}
	for _, bad := range []Finish{{}, {StopReason: "running"}, {StopReason: "completed", Messages: []Message{{ID: "m_x", Status: "completed"}}},
		{StopReason: "completed", Messages: []Message{{ID: m.ID, Status: "running"}}}} {
		expectError(t, s.FinishRun(t.Context(), b.Run.ID, bad), ErrInvalid)
	}
	expectError(t, s.FinishRun(t.Context(), b.Run.ID, Finish{StopReason: StatusCompleted, LastSeq: 9}), ErrGap)
	err = s.FinishRun(t.Context(), b.Run.ID, Finish{StopReason: StatusCompleted, Messages: []Message{m}, ToolCalls: []ToolCall{call}, Packets: packetsFrom(b.Run.ID, 1, 4), LastSeq: 4})
	if err != nil {
		t.Fatal(err)
	}
	expectError(t, s.FinishRun(t.Context(), b.Run.ID, Finish{StopReason: StatusError}), ErrFinished)

	run, err := s.Run(t.Context(), ada, b.Run.ID)
	if err != nil || run.StopReason != StatusCompleted || run.LastSeq != 4 || run.EndedAt.IsZero() {
		t.Errorf("got %+v, %v", run, err)
	}
	got, err := s.Message(t.Context(), ada, m.ID)
	if err != nil || got.Text != "hi" || got.Parent != b.UserMessage.ID || got.Model != "x" || got.EndedAt.IsZero() ||
		!reflect.DeepEqual(got.Steps, m.Steps) || !reflect.DeepEqual(got.Citations, m.Citations) {
		t.Errorf("got %+v, %v", got, err)
	}
	if left, err := s.Message(t.Context(), ada, b.Responses[1].ID); err != nil || left.Status != StatusInterrupted {
		t.Errorf("the answer of which nothing was said is %+v, %v", left, err)
	}
	calls, err := s.ToolCalls(t.Context(), ada, b.Run.ID)
	if err != nil || len(calls) != 1 || calls[0].Owner != ada.UserID() || string(calls[0].Arguments) != `{"a":1}` || string(calls[0].HostCalls) != `"[broken"` {
		t.Errorf("got calls %+v, %v", calls, err)
	}
	_, err = s.LiveRun(t.Context(), ada, b.Session.ID)
	expectError(t, err, ErrNotFound)
	if latest, err := s.LatestRun(t.Context(), ada, b.Session.ID); err != nil || latest.ID != b.Run.ID {
		t.Errorf("the latest run is %+v, %v", latest, err)
	}
	expectSound(t, s)
}

func TestReplaceRunBeginsANewEpoch(t *testing.T) {
	s := openTest(t, Options{})
	ada := newUser(t, s, "ada")
	b := ask(t, s, ada, "", "hello")
	run := b.Run.ID
	if err := s.AppendPackets(t.Context(), run, 1, packetsFrom(run, 1, 5)); err != nil {
		t.Fatal(err)
	}
	unfinished, err := s.UnfinishedRuns(t.Context(), identity.ForHost("a test"))
	if err != nil || len(unfinished) != 1 || unfinished[0].ID != run || unfinished[0].LastSeq != 5 {
		t.Fatalf("unfinished are %+v, %v", unfinished, err)
	}
	f := Finish{StopReason: StatusInterrupted, LastSeq: 2}
	expectError(t, s.ReplaceRun(t.Context(), run, 1, packetsFrom(run, 1, 2), f), ErrEpoch)
	expectError(t, s.ReplaceRun(t.Context(), run, 2, packetsFrom(run, 2, 2), f), ErrGap)
	if _, got, err := s.Packets(t.Context(), ada, run, 0, 0); err != nil || len(got) != 5 {
		t.Errorf("the refused left %d packets, %v", len(got), err)
	}
	if err := s.ReplaceRun(t.Context(), run, 2, packetsFrom(run, 1, 2), f); err != nil {
		t.Fatal(err)
	}
	epoch, got, err := s.Packets(t.Context(), ada, run, 0, 0)
	if err != nil || epoch != 2 || len(got) != 2 {
		t.Errorf("got epoch %d, %d packets, %v", epoch, len(got), err)
	}
	if m, err := s.Message(t.Context(), ada, b.Responses[0].ID); err != nil || m.Status != StatusInterrupted {
		t.Errorf("got %+v, %v", m, err)
	}
	expectError(t, s.AppendPackets(t.Context(), run, 1, packetsFrom(run, 6, 1)), ErrEpoch)
	expectError(t, s.ReplaceRun(t.Context(), run, 3, nil, f), ErrFinished)
	unfinished, err = s.UnfinishedRuns(t.Context(), identity.ForHost("a test"))
	if err != nil || len(unfinished) != 0 {
		t.Errorf("unfinished are %+v, %v", unfinished, err)
	}
	expectSound(t, s)
}

// TestAppendAndFinishAtOnce lets runs append while others end them: what was
// acknowledged before the end is there, nothing comes after it, one end wins.
func TestAppendAndFinishAtOnce(t *testing.T) {
	s := openTest(t, Options{})
	ada := newUser(t, s, "ada")
	var wg sync.WaitGroup
	for range 8 {
		b := ask(t, s, ada, "", "hello")
		run := b.Run.ID
		begun := make(chan struct{})
		var won atomic.Int32
		var acked atomic.Int64
		wg.Go(func() {
			begin := sync.OnceFunc(func() { close(begun) })
			defer begin()
			for seq := int64(1); ; seq += 2 {
				err := s.AppendPackets(t.Context(), run, 1, packetsFrom(run, seq, 2))
				if errors.Is(err, ErrFinished) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if acked.Store(seq + 1); seq == 5 {
					begin()
				}
			}
		})
		for _, reason := range []string{StatusCompleted, StatusUserCancelled} {
			wg.Go(func() {
				<-begun
				err := s.FinishRun(t.Context(), run, Finish{StopReason: reason})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, ErrFinished) {
					t.Error(err)
				}
			})
		}
		defer func() {
			stored, err := s.Run(t.Context(), ada, run)
			_, entries, err2 := s.Packets(t.Context(), ada, run, 0, 0)
			if err != nil || err2 != nil || won.Load() != 1 || stored.LastSeq != int64(len(entries)) || acked.Load() != stored.LastSeq {
				t.Errorf("run %+v: %d ends won, %d packets acknowledged, %d there, %v, %v", stored, won.Load(), acked.Load(), len(entries), err, err2)
			}
		}()
	}
	wg.Wait()
	expectSound(t, s)
}
