package migrate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// toJournals gives each run the journal that its packets, and the steps of its
// answers, make. Before, packets stood in a table for each run, steps in the messages,
// and calls in a table that nothing read. A record that cannot be read stays as it is,
// and costs no other.
func toJournals(tx kv.Tx) error {
	m := importer{tx: tx, messages: map[string]oldMessage{}, journals: map[string]bool{}, labels: map[string][]string{}}
	m.readMessages()
	for i, r := range m.readRuns() {
		if err := m.run(r, uint64(i)); err != nil {
			return fmt.Errorf("run %s: %w", r.ID, err)
		}
	}
	if err := m.writeMessages(); err != nil {
		return err
	}
	return errors.Join(tx.DeleteTable(oldPackets), tx.DeleteTable("tool_calls"))
}

// oldPackets has a table for each run: number (8 bytes, big endian) → packet.
const oldPackets kv.Table = "packets"

// oldRun is a run as it was kept before.
type oldRun struct {
	ID          string   `json:"id"`
	Session     string   `json:"session"`
	Owner       string   `json:"owner"`
	Epoch       int64    `json:"epoch"`
	UserMessage string   `json:"user_message"`
	Responses   []string `json:"responses"`
	Continues   bool     `json:"continues"`
	StopReason  string   `json:"stop_reason"`
	// These two are only read to find out whether the record can be.
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	// damaged tells that the record cannot be read; what stands here is what the
	// messages say of it.
	damaged bool
}

// oldMessage is what of a message was kept otherwise, and what its runs need.
type oldMessage struct {
	Session string `json:"session"`
	Owner   string `json:"owner"`
	Role    string `json:"role"`
	Parent  string `json:"parent"`
	Text    string `json:"text"`
	Files   []struct {
		ID string `json:"id"`
	} `json:"files"`
	Run          string    `json:"run"`
	LaterRuns    []string  `json:"later_runs"`
	Model        string    `json:"model"`
	ModelIndex   int       `json:"model_index"`
	Allowed      []string  `json:"allowed"`
	Status       string    `json:"status"`
	ErrorCode    string    `json:"error_code"`
	ErrorMessage string    `json:"error_message"`
	Steps        []oldStep `json:"steps"`
	Citations    []struct {
		Number   int             `json:"number"`
		Ref      int             `json:"ref"`
		Document packet.Document `json:"document"`
	} `json:"citations"`
}

// oldCall is a tool call as the model made it.
type oldCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
}

// oldStep is one response of a model with its results.
type oldStep struct {
	Text      string          `json:"text"`
	Reasoning string          `json:"reasoning"`
	Calls     []oldCall       `json:"calls"`
	Native    json.RawMessage `json:"native"`
	Results   []struct {
		CallID    string            `json:"call_id"`
		Name      string            `json:"name"`
		Text      string            `json:"text"`
		Failed    bool              `json:"failed"`
		Held      bool              `json:"held"`
		Documents []packet.Document `json:"documents"`
	} `json:"results"`
}

// held are the calls of a message that wait until it is selected.
func (m oldMessage) held() (calls []oldCall) {
	for _, s := range m.Steps {
		for _, r := range s.Results {
			is := func(c oldCall) bool { return c.ID == r.CallID }
			if i := slices.IndexFunc(s.Calls, is); r.Held && i >= 0 {
				calls = append(calls, s.Calls[i])
			}
		}
	}
	return calls
}

// lastRun is the run that wrote in the message last.
func (m oldMessage) lastRun() string {
	if n := len(m.LaterRuns); n > 0 {
		return m.LaterRuns[n-1]
	}
	return m.Run
}

// importer carries the old records over.
type importer struct {
	tx       kv.Tx
	messages map[string]oldMessage
	// journals are the runs that have one by now.
	journals map[string]bool
	// labels are the taint of the path with each answer.
	labels map[string][]string
}

func (m *importer) readMessages() {
	table.Messages.Scan(m.tx, "", func(key string, value []byte) bool {
		var old oldMessage
		if json.Unmarshal(value, &old) == nil {
			m.messages[key] = old
		}
		return true
	})
}

// readRuns returns the runs in the order in which they began, in which ids sort.
func (m *importer) readRuns() (runs []oldRun) {
	table.Runs.Scan(m.tx, "", func(key string, value []byte) bool {
		var r oldRun
		if json.Unmarshal(value, &r) != nil || r.ID != key {
			r = m.guess(key)
		}
		runs = append(runs, r)
		return true
	})
	return runs
}

// guess makes a run whose record cannot be read of what its messages say. It has
// ended: nobody could end it.
func (m *importer) guess(id string) oldRun {
	r := oldRun{ID: id, StopReason: interrupted, damaged: true}
	for key, old := range m.messages {
		if old.Run != id && !slices.Contains(old.LaterRuns, id) {
			continue
		}
		r.Session, r.Owner, r.UserMessage, r.Continues = old.Session, old.Owner, old.Parent, old.Run != id
		r.Responses = append(r.Responses, key)
	}
	slices.SortFunc(r.Responses, func(a, b string) int {
		return cmp.Compare(m.messages[a].ModelIndex, m.messages[b].ModelIndex)
	})
	return r
}

// taint is that of the path with a message: that of the newest answer in it.
func (m *importer) taint(id string) []string {
	for seen := 0; id != "" && seen < len(m.messages); seen++ {
		if labels, ok := m.labels[id]; ok {
			return labels
		}
		id = m.messages[id].Parent
	}
	return nil
}

// run writes the journal of one run. number is another one for each.
func (m *importer) run(r oldRun, number uint64) error {
	shown, said := m.packets(r.ID)
	live := r.StopReason == ""
	if len(shown) == 0 && !live {
		shown = m.told(r)
	}
	records := append([]journal.Record{journal.Of(m.begun(r))}, shown...)
	for i, id := range r.Responses {
		old := m.messages[id]
		m.labels[id] = journal.Join(journal.Join(m.taint(old.Parent), m.labels[id]), said[i].labels)
		if old.Run == r.ID { // where an answer went on, all of it is kept with its first run
			records = append(records, steps(i, old)...)
		}
		if !live {
			records = append(records, journal.Of(said[i].outcome(i, r, old, m.labels[id])))
		}
	}
	if !live {
		records = append(records, journal.Of(journal.End{Reason: r.StopReason}))
	}
	log, err := journal.Import(m.tx, r.ID, max(r.Epoch, 1), live, number, records)
	if err != nil {
		return err
	}
	m.journals[r.ID] = true
	if r.damaged {
		return nil
	}
	if live {
		return nil
	}
	run, err := table.Get[map[string]any](m.tx, table.Runs, r.ID)
	if err != nil {
		return err
	}
	run["ends"] = map[int64]int64{r.Epoch: int64(len(shown)), log.Epoch(): log.Last()}
	run["epoch"] = log.Epoch()
	return table.Runs.Put(m.tx, r.ID, run)
}

// begun is how a run began, as far as that is known.
func (m *importer) begun(r oldRun) journal.Begun {
	question := m.messages[r.UserMessage]
	b := journal.Begun{User: r.Owner, Session: r.Session, Question: r.UserMessage, Answers: r.Responses,
		Text: question.Text, Kind: journal.KindChat, Labels: m.taint(r.UserMessage)}
	for _, f := range question.Files {
		b.Files = append(b.Files, f.ID)
	}
	if r.Continues {
		b.Kind = journal.KindContinue
	}
	for _, id := range r.Responses {
		b.Models = append(b.Models, m.messages[id].Model)
		b.Allowed = m.messages[id].Allowed
		if r.Continues {
			b.Labels = m.taint(id)
		}
	}
	return b
}

// said is what the packets of a run say of a model's answer.
type said struct {
	// labels are those of the tools that the model used.
	labels []string
	reason packet.StopReason
	err    *packet.Error
}

// packets reads the packets of a run, and by model what they say. In place of one
// that cannot be read stands a notice, so that the others keep their numbers.
func (m *importer) packets(run string) (records []journal.Record, models map[int]said) {
	models = map[int]said{}
	_ = m.tx.Scan(kv.Nested(oldPackets, run), "", func(_ string, value []byte) bool { // it never fails
		var p packet.Packet
		if p.UnmarshalJSON(value) != nil {
			records = append(records, journal.Packet(packet.At(0, 0), packet.NewNotice(packet.CodeRecordDamaged, "")))
			return true
		}
		if index := p.Placement.ModelIndex; index != nil {
			models[*index] = models[*index].with(p.Obj)
		}
		records = append(records, journal.Packet(p.Placement, p.Obj))
		return true
	})
	return records, models
}

func (s said) with(obj packet.Obj) said {
	switch o := obj.(type) {
	case packet.ToolStart:
		for _, l := range o.Labels {
			if l == "private_data" || l == "untrusted_content" {
				s.labels = journal.Join(s.labels, []string{l})
			}
		}
	case packet.Error:
		s.err = &o
	case packet.Stop:
		s.reason = o.Reason
	}
	return s
}

// outcome is how an answer ended in a run: the message says how it ended in its last
// one.
func (s said) outcome(model int, r oldRun, old oldMessage, labels []string) journal.Outcome {
	o := journal.Outcome{Model: model, Reason: string(s.reason), Error: s.err, Labels: labels}
	if old.lastRun() == r.ID && final(old.Status) {
		o.Reason, o.Error = old.Status, nil
		if old.ErrorCode != "" {
			o.Error = &packet.Error{Code: packet.Code(old.ErrorCode), Message: old.ErrorMessage}
		}
	}
	if o.Reason == "" {
		o.Reason = r.StopReason
	}
	for _, c := range old.Citations {
		o.Citations = append(o.Citations, packet.CitationInfo{CitationNumber: c.Number, Ref: c.Ref,
			Document: c.Document})
	}
	return o
}

// told are packets of a run whose own are lost, as its messages tell them.
func (m *importer) told(r oldRun) []journal.Record {
	started := packet.RunStarted{UserMessageID: r.UserMessage, Responses: []packet.Response{}}
	var answers []journal.Record
	for i, id := range r.Responses {
		old := m.messages[id]
		started.Responses = append(started.Responses, packet.Response{ModelIndex: i, MessageID: id, Model: old.Model})
		at := packet.At(0, 0).ForModel(i)
		if old.Run == r.ID && old.Text != "" {
			answers = append(answers, journal.Packet(at, packet.MessageStart{}),
				journal.Packet(at, packet.MessageDelta{Content: old.Text}), journal.Packet(at, packet.MessageEnd{}))
		}
		reason := said{}.outcome(i, r, old, nil).Reason
		answers = append(answers, journal.Packet(at, packet.Stop{Reason: packet.StopReason(reason)}))
	}
	end := journal.Packet(packet.At(0, 0), packet.Stop{Reason: packet.StopReason(r.StopReason)})
	return slices.Concat([]journal.Record{journal.Packet(packet.At(0, 0), started)}, answers, []journal.Record{end})
}

// steps are what the model is shown of an answer.
func steps(model int, old oldMessage) (records []journal.Record) {
	for _, s := range old.Steps {
		step := journal.Step{Model: model, Text: s.Text, Reasoning: s.Reasoning, Native: s.Native}
		for _, c := range s.Calls {
			step.Calls = append(step.Calls, journal.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
		records = append(records, journal.Of(step))
		for _, r := range s.Results {
			outcome := packet.OutcomeOK
			if r.Failed {
				outcome = packet.OutcomeError
			}
			records = append(records, journal.Of(journal.CallDone{Model: model, CallID: r.CallID, Name: r.Name,
				Outcome: string(outcome), Text: r.Text, Documents: r.Documents}))
			if r.Held {
				records = append(records, journal.Of(journal.Held{Model: model, CallID: r.CallID}))
			}
		}
	}
	return records
}

// writeMessages leaves in the answers what the tree keeps. One without a journal, whose
// run is gone, keeps its text, and one that cannot be read stays as it is.
func (m *importer) writeMessages() error {
	for id, old := range m.messages {
		if old.Role != "assistant" {
			continue
		}
		if _, err := table.Get[readable](m.tx, table.Messages, id); err != nil {
			continue // the store's check names it
		}
		message, err := table.Get[map[string]json.RawMessage](m.tx, table.Messages, id)
		if err != nil {
			return err
		}
		delete(message, "steps")
		delete(message, "citations")
		if m.journals[old.Run] {
			delete(message, "text")
		}
		if err := errors.Join(set(message, "labels", m.labels[id]), set(message, "held", old.held())); err != nil {
			return err
		}
		if err := table.Messages.Put(m.tx, id, message); err != nil {
			return err
		}
	}
	return nil
}

// readable has the fields of a message that this migration does not look at.
type readable struct {
	ID        string    `json:"id"`
	Agent     string    `json:"agent"`
	CreatedAt time.Time `json:"created_at"`
	EndedAt   time.Time `json:"ended_at"`
}

// set writes a list in a record, or nothing for an empty one.
func set[T any](record map[string]json.RawMessage, field string, list []T) error {
	if len(list) == 0 {
		return nil
	}
	data, err := json.Marshal(list)
	record[field] = data
	return err
}

// interrupted is how a run or an answer ended that a crash cut off.
const interrupted = "interrupted"

// final tells whether an answer with this status has ended.
func final(status string) bool {
	return slices.Contains([]string{"completed", "user_cancelled", "error", interrupted, "awaiting_user"}, status)
}
