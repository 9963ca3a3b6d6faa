package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/storetest"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// TestAnOldDataFolderIsReadOn opens what a version before journals wrote, twice.
func TestAnOldDataFolderIsReadOn(t *testing.T) {
	path := filepath.Join(storetest.OldData(t), "bulkhead.db")
	var first []string
	for round := range 2 {
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		expectOldData(t, s)
		expectSound(t, s)
		all := dump(t, s)
		if round == 0 {
			first = all
		} else if !slices.Equal(all, first) {
			t.Error("to open it again changed it")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// dump is everything in a store.
func dump(t *testing.T, s *Store) (all []string) {
	t.Helper()
	err := s.view(t.Context(), func(tx kv.Tx) error {
		for _, each := range tx.Tables() {
			for _, in := range append([]kv.Table{each}, tx.Inside(each)...) {
				_ = tx.Scan(in, "", func(key string, value []byte) bool {
					all = append(all, fmt.Sprintf("%q/%q=%q", in, key, value))
					return true
				})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func expectOldData(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	owner, err := s.Users().ByName(ctx, OwnerName)
	if err != nil || !owner.Operator {
		t.Fatalf("the owner is %+v, %v", owner, err)
	}
	p := owner.Principal(identity.Command)
	agents, err := s.Agents().List(ctx, anOperator)
	if err != nil || len(agents) != 1 || agents[0].Name != "clerk" ||
		!slices.Equal(agents[0].Tools, []string{"internal_search"}) {
		t.Errorf("the agents are %+v, %v", agents, err)
	}
	documents, err := s.Documents().List(ctx, p)
	if err != nil || len(documents) != 1 || !strings.HasSuffix(documents[0].URI, "/docs/tide.md") {
		t.Fatalf("the documents are %+v, %v", documents, err)
	}
	text, err := s.Documents().Text(ctx, p, documents[0].ID)
	if err != nil || string(text) != "# Tide table\n\nHigh water at the old pier is at 04:17 on Friday.\n" {
		t.Errorf("the document says %q, %v", text, err)
	}
	sessions, err := s.Sessions().List(ctx, p, 0, "")
	if err != nil || len(sessions) != 1 || sessions[0].ID != storetest.OldSession {
		t.Fatalf("the sessions are %+v, %v", sessions, err)
	}
	branch, err := s.Messages().Branch(ctx, p, storetest.OldSession, "")
	if err != nil || len(branch) != 2 || branch[0].Text != "When is high water at the old pier?" {
		t.Fatalf("the messages are %+v, %v", branch, err)
	}
	answer := branch[1]
	if answer.Status != StatusCompleted || answer.Model != "extractive" ||
		!slices.Equal(answer.Labels, []string{"private_data"}) || answer.Held != nil {
		t.Errorf("the answer is %+v", answer)
	}
	run, err := s.Runs().Get(ctx, p, answer.Run)
	if err != nil || run.Live() || !run.Told(1, 24) || run.Told(1, 23) {
		t.Errorf("the run is %+v, %v", run, err)
	}
	log := sealed(t, s, answer.Run)
	if log.Epoch() != run.Epoch || log.Last() != run.Ends[run.Epoch] || log.Epoch() != 2 || log.Damage() != nil {
		t.Errorf("the journal has %d packets in epoch %d, the run is %+v, %v", log.Last(), log.Epoch(), run,
			log.Damage())
	}
	want := "session_created run_started top_level_branching tool_start tool_args tool_documents section_end " +
		"message_start message_delta citation_info message_delta message_end stop stop"
	if got := strings.Join(packetTypes(log), " "); got != want {
		t.Errorf("the packets are\n%s, want\n%s", got, want)
	}
	a := journal.Answers(log.Records(), 1)[0]
	if a.Text != "High water at the old pier is at 04:17 on Friday. [[1]]" || a.Reason != packet.StopCompleted ||
		a.Error != nil {
		t.Errorf("the answer says %q, and ended as %s, %v", a.Text, a.Reason, a.Error)
	}
	if len(a.Citations) != 1 || a.Citations[0].Ref != 1 || a.Citations[0].Document.ID != documents[0].ID {
		t.Errorf("it cites %+v", a.Citations)
	}
	said := "High water at the old pier is at 04:17 on Friday. [1]"
	if len(a.Steps) != 2 || len(a.Steps[0].Results) != 1 || a.Steps[1].Text != said {
		t.Fatalf("its steps are %+v", a.Steps)
	}
	call, result := a.Steps[0].Calls[0], a.Steps[0].Results[0]
	if call.Name != "internal_search" || call.Arguments != `{"queries":["high water old pier"]}` ||
		result.CallID != call.ID || result.Failed() ||
		result.Lost || !strings.Contains(result.Text, "04:17") || len(result.Documents) != 1 ||
		result.Documents[0].ID != documents[0].ID {
		t.Errorf("its call is %+v, with %+v", call, result)
	}
}

func packetTypes(log *journal.Log) (types []string) {
	for r := range log.Records() {
		if r.Obj != nil {
			types = append(types, r.Obj.Type())
		}
	}
	return types
}

// oldFile writes a data file of version 4.
type oldFile struct {
	t       *testing.T
	tx      kv.Tx
	packets map[string]int
}

// writeOld makes an old data file with the user u_1, and returns its path.
func writeOld(t *testing.T, fill func(f oldFile)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bulkhead.db")
	db, err := kv.OpenBolt(path, kv.BoltOptions{LockTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), func(tx kv.Tx) error {
		f := oldFile{t, tx, map[string]int{}}
		f.put(table.Meta, "schema", "4")
		f.put(table.Users, "u_1", `{"id":"u_1","name":"ada","created_at":"2026-11-01T00:00:00Z"}`)
		f.put(table.UserNames, "ada", "u_1")
		fill(f)
		return nil
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func (f oldFile) put(in table.Name, key, value string) {
	f.t.Helper()
	if err := f.tx.Put(kv.Table(in), key, []byte(value)); err != nil {
		f.t.Fatal(err)
	}
}

func (f oldFile) record(in table.Name, key string, fields map[string]any) {
	f.t.Helper()
	fields["id"], fields["owner"] = key, "u_1"
	data, err := json.Marshal(fields)
	if err != nil {
		f.t.Fatal(err)
	}
	f.put(in, key, string(data))
}

type fields = map[string]any

const oldTime = "2026-11-01T00:00:00Z"

func (f oldFile) session(id, leaf string) {
	f.record(table.Sessions, id, fields{"leaf": leaf, "created_at": oldTime, "updated_at": oldTime})
	at, _ := time.Parse(time.RFC3339, oldTime) // it is one
	f.put(table.OwnerSessions, table.Join("u_1", table.TimeKey(at), id), "")
}

func (f oldFile) question(session, id, parent, text string) {
	f.record(table.Messages, id, fields{"session": session, "parent": parent, "role": "user", "text": text,
		"status": "completed", "created_at": oldTime})
	f.put(table.SessionMsgs, table.Join(session, id), "")
}

func (f oldFile) answer(session, id, parent, run string, more fields) {
	all := fields{"session": session, "parent": parent, "role": "assistant", "run": run, "model": "m",
		"status": "completed", "created_at": oldTime}
	for key, value := range more {
		all[key] = value
	}
	f.record(table.Messages, id, all)
	f.put(table.SessionMsgs, table.Join(session, id), "")
}

// run writes a run; one with a stop reason of "" is live.
func (f oldFile) run(session, id, question, stop string, continues bool, answers ...string) {
	f.record(table.Runs, id, fields{"session": session, "epoch": 1, "user_message": question, "responses": answers,
		"continues": continues, "stop_reason": stop, "last_seq": f.packets[id], "started_at": oldTime})
	f.put(table.SessionRuns, table.Join(session, id), "")
	if stop == "" {
		f.put(table.Live, session, id)
	}
}

func (f oldFile) packet(run string, place packet.Placement, obj packet.Obj) {
	f.t.Helper()
	data, err := json.Marshal(packet.Packet{Run: run, Epoch: 1, Seq: int64(f.packets[run]) + 1, Placement: place,
		Obj: obj})
	if err != nil {
		f.t.Fatal(err)
	}
	f.raw(run, string(data))
}

func (f oldFile) raw(run, value string) {
	f.packets[run]++
	f.put(table.Name(kv.Nested("packets", run)), string(binary.BigEndian.AppendUint64(nil, uint64(f.packets[run]))),
		value)
}

// say writes the packets of a model's answer: tools with their labels, and words.
func (f oldFile) say(run string, model int, labels []string, words ...string) {
	at := packet.At(0, 0).ForModel(model)
	if labels != nil {
		f.packet(run, at, packet.ToolStart{CallID: "c" + run, Tool: "t", Labels: labels})
		f.packet(run, at, packet.SectionEnd{Outcome: packet.OutcomeOK})
	}
	at.TurnIndex = 1
	f.packet(run, at, packet.MessageStart{})
	for _, w := range words {
		f.packet(run, at, packet.MessageDelta{Content: w})
	}
}

func (f oldFile) stop(run string, model int, reason packet.StopReason) {
	f.packet(run, packet.At(0, 0).ForModel(model), packet.Stop{Reason: reason})
}

// openOld opens an old data file, and returns who owns what is in it.
func openOld(t *testing.T, path string) (*Store, identity.Principal) {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	user, err := s.Users().Get(t.Context(), "u_1")
	if err != nil {
		t.Fatal(err)
	}
	err = s.view(t.Context(), func(tx kv.Tx) error {
		for _, gone := range []kv.Table{"packets", "tool_calls"} {
			if slices.Contains(tx.Tables(), gone) {
				t.Errorf("the table %s is still there", gone)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, user.Principal(identity.Command)
}

func step(text string, call string, held bool) fields {
	s := fields{"text": text}
	if call != "" {
		s["calls"] = []fields{{"id": "other", "name": "clock"},
			{"id": call, "name": "mail", "arguments": `{"to":"eve"}`}}
		s["results"] = []fields{
			{"call_id": call, "name": "mail", "text": "not now", "failed": true, "held": held},
			{"call_id": "other", "name": "clock", "text": "04:17"},
		}
	}
	return s
}

func TestOldHeldCallsAreHeldOn(t *testing.T) {
	s, ada := openOld(t, writeOld(t, func(f oldFile) {
		f.session("s_1", "m_2")
		f.question("s_1", "m_1", "", "compare")
		f.answer("s_1", "m_2", "m_1", "r_1", fields{"text": "one", "allowed": []string{"mail"},
			"steps": []fields{step("one", "c_1", true)}})
		f.answer("s_1", "m_3", "m_1", "r_1", fields{"text": "two", "model_index": 1,
			"steps": []fields{step("two", "c_2",
				false)}})
		f.say("r_1", 0, []string{"egress", "private_data"}, "one")
		f.say("r_1", 1, nil, "two")
		f.stop("r_1", 0, packet.StopCompleted)
		f.stop("r_1", 1, packet.StopCompleted)
		f.run("s_1", "r_1", "m_1", "completed", false, "m_2", "m_3")
	}))
	expectSound(t, s)
	m := message(t, s, ada, "m_2")
	want := []Call{{ID: "c_1", Name: "mail", Arguments: `{"to":"eve"}`}}
	if !reflect.DeepEqual(m.Held, want) || !slices.Equal(m.Labels, []string{"private_data"}) || m.Text != "" ||
		textOf(t, s, m) != "one" {
		t.Errorf("the first answer is %+v", m)
	}
	if m := message(t, s, ada, "m_3"); m.Held != nil || m.Labels != nil || textOf(t, s, m) != "two" {
		t.Errorf("the second answer is %+v", m)
	}
	answers := journal.Answers(sealed(t, s, "r_1").Records(), 2)
	if len(answers[0].Held) != 1 || answers[0].Held[0].ID != "c_1" || len(answers[1].Held) != 0 {
		t.Errorf("the journal holds %+v and %+v", answers[0].Held, answers[1].Held)
	}
	results := answers[0].Steps[0].Results // in the order of the calls
	if results[0].Text != "04:17" || results[0].Failed() || results[1].Text != "not now" || !results[1].Failed() ||
		!results[1].Held {
		t.Errorf("the results are %+v", results)
	}
	begun, _ := journal.First[journal.Begun](sealed(t, s, "r_1"))
	if begun.Text != "compare" || begun.Question != "m_1" || !slices.Equal(begun.Answers, []string{"m_2", "m_3"}) ||
		begun.Kind != journal.KindChat {
		t.Errorf("it began with %+v", begun)
	}
	b, err := s.Runs().Begin(t.Context(), ada, BeginRun{Continue: "m_2", OnlyHeld: true, Models: []string{"m"}})
	if err != nil || !reflect.DeepEqual(b.Held, want) {
		t.Errorf("it goes on with %+v, %v", b.Held, err)
	}
}

// TestAnOldAnswerThatWentOnKeepsBothRuns: the steps of both stood in the message, and
// the taint of what comes later is that of both.
func TestAnOldAnswerThatWentOnKeepsBothRuns(t *testing.T) {
	s, ada := openOld(t, writeOld(t, func(f oldFile) {
		f.session("s_1", "m_6")
		f.question("s_1", "m_1", "", "one")
		f.answer("s_1", "m_2", "m_1", "r_1", fields{"text": "one and two", "later_runs": []string{"r_2"},
			"steps": []fields{step("one", "c_1", false), step("and two", "", false)}})
		f.say("r_1", 0, []string{"private_data"}, "o", "ne")
		f.packet("r_1", packet.At(0, 0).ForModel(0), packet.NewError(packet.CodeModelFailed, "It failed."))
		f.stop("r_1", 0, packet.StopError)
		f.run("s_1", "r_1", "m_1", "error", false, "m_2")
		f.say("r_2", 0, []string{"untrusted_content", "writes"}, " and two")
		f.stop("r_2", 0, packet.StopCompleted)
		f.run("s_1", "r_2", "m_1", "completed", true, "m_2")
		f.question("s_1", "m_3", "m_2", "three")
		f.answer("s_1", "m_4", "m_3", "r_3", fields{"text": "", "status": "user_cancelled"})
		f.stop("r_3", 0, packet.StopUserCancelled)
		f.run("s_1", "r_3", "m_3", "user_cancelled", false, "m_4")
		f.question("s_1", "m_5", "", "anew")
		f.answer("s_1", "m_6", "m_5", "r_4", fields{"text": "clean"})
		f.say("r_4", 0, nil, "clean")
		f.run("s_1", "r_4", "m_5", "completed", false, "m_6")
	}))
	expectSound(t, s)
	m := message(t, s, ada, "m_2")
	if text := textOf(t, s, m); text != "one and two" || !slices.Equal(m.LaterRuns, []string{"r_2"}) {
		t.Errorf("the answer is %+v and says %q", m, text)
	}
	both := []string{"private_data", "untrusted_content"}
	for id, want := range map[string][]string{"m_2": both, "m_4": both, "m_6": nil} {
		if m := message(t, s, ada, id); !slices.Equal(m.Labels, want) {
			t.Errorf("%s has %v, want %v", id, m.Labels, want)
		}
	}
	first := journal.Answers(sealed(t, s, "r_1").Records(), 1)[0]
	if first.Reason != packet.StopError || first.Error == nil || first.Error.Message != "It failed." ||
		len(first.Steps) != 2 || len(first.Steps[0].Results) != 2 {
		t.Errorf("the first run says %+v", first)
	}
	second := journal.Answers(sealed(t, s, "r_2").Records(), 1)[0]
	if second.Reason != packet.StopCompleted || second.Error != nil || second.Text != " and two" ||
		len(second.Steps) != 0 || !slices.Equal(second.Labels, both) {
		t.Errorf("the second run says %+v", second)
	}
	if begun, _ := journal.First[journal.Begun](sealed(t, s, "r_2")); begun.Kind != journal.KindContinue ||
		!slices.Equal(begun.Labels, []string{"private_data"}) {
		t.Errorf("the second run began with %+v", begun)
	}
	if run, err := s.Runs().Get(t.Context(), ada, "r_1"); err != nil || run.Epoch != 2 || !run.Told(1, 7) ||
		run.Told(1, 6) {
		t.Errorf("a run whose deltas were joined is %+v, %v", run, err)
	}
	b, err := s.Runs().Begin(t.Context(), ada, BeginRun{SessionID: "s_1", Parent: "m_4", Text: "next",
		Models: []string{"m"}})
	if err != nil || !slices.Equal(b.Labels, both) || !slices.Equal(b.Path, []string{"m_1", "m_2", "m_3", "m_4",
		b.UserMessage.ID}) {
		t.Errorf("what follows has %v on %v, %v", b.Labels, b.Path, err)
	}
}

// TestOldUnfinishedRunsAreLive also has one of which nothing was written, and one that
// went on with an answer.
func TestOldUnfinishedRunsAreLive(t *testing.T) {
	s, ada := openOld(t, writeOld(t, func(f oldFile) {
		f.session("s_1", "m_2")
		f.question("s_1", "m_1", "", "one")
		f.answer("s_1", "m_2", "m_1", "r_1", fields{"status": "running"})
		f.packet("r_1", packet.At(0, 0), packet.RunStarted{UserMessageID: "m_1",
			Responses: []packet.Response{{MessageID: "m_2", Model: "m"}}})
		f.say("r_1", 0, []string{"private_data"}, "ha", "lf")
		f.run("s_1", "r_1", "m_1", "", false, "m_2")
		f.session("s_2", "m_4")
		f.question("s_2", "m_3", "", "two")
		f.answer("s_2", "m_4", "m_3", "r_2", fields{"status": "running"})
		f.run("s_2", "r_2", "m_3", "", false, "m_4")
		f.session("s_3", "m_6")
		f.question("s_3", "m_5", "", "three")
		f.answer("s_3", "m_6", "m_5", "r_3", fields{"status": "running", "text": "first", "later_runs": []string{"r_4"},
			"steps": []fields{step("first", "", false)}})
		f.say("r_3", 0, nil, "first")
		f.stop("r_3", 0, packet.StopUserCancelled)
		f.run("s_3", "r_3", "m_5", "user_cancelled", false, "m_6")
		f.say("r_4", 0, nil, "second")
		f.run("s_3", "r_4", "m_5", "", true, "m_6")
	}))
	expectSound(t, s)
	records, err := journal.Open(t.Context(), s.DB(), journal.Options{Tick: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := records.Close(); err != nil {
			t.Error(err)
		}
	}()
	if live := records.Unfinished(); !slices.Equal(live, []string{"r_1", "r_2", "r_4"}) {
		t.Fatalf("the journals of %v are live", live)
	}
	for run, want := range map[string]struct {
		text  string
		types string
	}{
		"r_1": {"half", "run_started tool_start section_end message_start message_delta message_delta"},
		"r_2": {"", ""},
		"r_4": {"second", "message_start message_delta"},
	} {
		log, err := records.Open(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		a := journal.Answers(log.Records(), 1)[0]
		if a.Text != want.text || a.Reason != "" || log.Epoch() != 1 || log.Closed() ||
			strings.Join(packetTypes(log), " ") != want.types {
			t.Errorf("%s says %+v in epoch %d with %v", run, a, log.Epoch(), packetTypes(log))
		}
		if begun, ok := journal.First[journal.Begun](log); !ok || len(begun.Answers) != 1 {
			t.Errorf("%s began with %+v", run, begun)
		}
	}
	if a := journal.Answers(sealed(t, s, "r_3").Records(), 1)[0]; a.Reason != packet.StopUserCancelled ||
		a.Text != "first" {
		t.Errorf("what ended before says %+v", a)
	}
	if m := message(t, s, ada, "m_2"); m.Status != StatusRunning || !slices.Equal(m.Labels, []string{"private_data"}) {
		t.Errorf("the answer on its way is %+v", m)
	}
	unfinished, err := s.Runs().Unfinished(t.Context(), identity.ForHost("a test"))
	if err != nil || len(unfinished) != 3 {
		t.Fatalf("%+v, %v", unfinished, err)
	}
	for _, run := range unfinished { // as a start does
		lease, err := records.Lease(t.Context(), run.ID, "recovery")
		if err != nil {
			t.Fatal(err)
		}
		ending := lease.Seal(true, journal.Closings(lease.Log(), 1)...)
		if err := s.Runs().Finish(t.Context(), run.ID, finishWith(ending, run, StatusInterrupted)); err != nil {
			t.Fatal(err)
		}
		ending.Done()
	}
	if text := textOf(t, s, message(t, s, ada, "m_6")); text != "firstsecond" {
		t.Errorf("the answer that went on says %q", text)
	}
	expectSound(t, s)
}

// TestOldDamageCostsNothingElse spoils one record of each kind.
func TestOldDamageCostsNothingElse(t *testing.T) {
	s, ada := openOld(t, writeOld(t, func(f oldFile) {
		// A packet.
		f.session("s_1", "m_02")
		f.question("s_1", "m_01", "", "one")
		f.answer("s_1", "m_02", "m_01", "r_1", fields{"text": "a lost c"})
		f.say("r_1", 0, nil, "a ")
		f.raw("r_1", "{spoiled")
		f.packet("r_1", packet.At(1, 0).ForModel(0), packet.MessageDelta{Content: "c"})
		f.stop("r_1", 0, packet.StopCompleted)
		f.run("s_1", "r_1", "m_01", "completed", false, "m_02")
		// All packets of a run.
		f.session("s_2", "m_04")
		f.question("s_2", "m_03", "", "two")
		f.answer("s_2", "m_04", "m_03", "r_2", fields{"text": "told", "status": "error", "error_code": "model_failed",
			"error_message": "It failed."})
		f.run("s_2", "r_2", "m_03", "error", false, "m_04")
		// A run.
		f.session("s_3", "m_06")
		f.question("s_3", "m_05", "", "three")
		f.answer("s_3", "m_06", "m_05", "r_3", fields{"text": "kept", "steps": []fields{step("kept", "", false)}})
		f.answer("s_3", "m_07", "m_05", "r_3", fields{"text": "other", "model_index": 1})
		f.say("r_3", 0, []string{"private_data"}, "kept")
		f.say("r_3", 1, nil, "other")
		f.run("s_3", "r_3", "m_05", "completed", false, "m_06", "m_07")
		f.put(table.Runs, "r_3", "{spoiled")
		f.question("s_3", "m_08", "m_06", "next")
		// An answer, and a run whose times make no sense.
		f.session("s_4", "m_10")
		f.question("s_4", "m_09", "", "four")
		f.say("r_4", 0, []string{"private_data"}, "still there")
		f.run("s_4", "r_4", "m_09", "completed", false, "m_10")
		f.put(table.Messages, "m_10", "{spoiled")
		f.put(table.SessionMsgs, table.Join("s_4", "m_10"), "")
		f.session("s_5", "m_12")
		f.question("s_5", "m_11", "", "five")
		f.answer("s_5", "m_12", "m_11", "r_5", fields{"text": "timeless", "created_at": 7})
		f.run("s_5", "r_5", "m_11", "completed", false, "m_12")
		f.record(table.Runs, "r_5", fields{"session": "s_5", "started_at": "never"})
		// An answer whose run is gone.
		f.session("s_6", "m_14")
		f.question("s_6", "m_13", "", "six")
		f.answer("s_6", "m_14", "m_13", "r_6", fields{"text": "orphan"})
	}))
	damaged := map[string]bool{}
	for _, p := range s.Check(t.Context()) {
		damaged[p.Key] = true
	}
	for _, key := range []string{"r_3", "m_10", "m_12", "r_5", "m_14"} {
		if !damaged[key] {
			t.Errorf("Check does not name %s", key)
		}
		delete(damaged, key)
	}
	if len(damaged) > 0 {
		t.Errorf("Check names %v too", damaged)
	}
	if text := textOf(t, s, message(t, s, ada, "m_02")); text != "a c" {
		t.Errorf("what is left of an answer is %q", text)
	}
	if got, want := strings.Join(packetTypes(sealed(t, s, "r_1")), " "),
		"message_start message_delta notice stop"; got != want {
		t.Errorf("its packets are %s, want %s", got, want)
	}
	if text := textOf(t, s, message(t, s, ada, "m_04")); text != "told" {
		t.Errorf("an answer without packets says %q", text)
	}
	if got, want := strings.Join(packetTypes(sealed(t, s, "r_2")), " "),
		"run_started message_start message_delta message_end stop stop"; got != want {
		t.Errorf("its packets are %s, want %s", got, want)
	}
	if a := journal.Answers(sealed(t, s, "r_2").Records(), 1)[0]; a.Reason != packet.StopError || a.Error == nil {
		t.Errorf("it ended as %+v", a)
	}
	for id, want := range map[string]string{"m_06": "kept", "m_07": "other"} {
		if text := textOf(t, s, message(t, s, ada, id)); text != want {
			t.Errorf("%s, whose run cannot be read, says %q", id, text)
		}
	}
	if m := message(t, s, ada, "m_06"); !slices.Equal(m.Labels, []string{"private_data"}) {
		t.Errorf("it has %v", m.Labels)
	}
	if a := journal.Answers(sealed(t, s, "r_4").Records(), 1)[0]; a.Text != "still there" {
		t.Errorf("the answer whose record cannot be read says %q", a.Text)
	}
	if m := message(t, s, ada, "m_14"); m.Text != "orphan" {
		t.Errorf("an answer whose run is gone is %+v", m)
	}
}

func TestAFileThatIsNotMigratedIsLeftAsItWas(t *testing.T) {
	path := filepath.Join(storetest.OldData(t), "bulkhead.db")
	refused := errors.New("refused")
	_, err := Open(path, Options{Stop: func(before bool) error { return refused }})
	expectError(t, err, refused)
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	expectOldData(t, s)
}
