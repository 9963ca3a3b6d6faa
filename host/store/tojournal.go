package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// toJournals gives each run the journal that its packets, and the steps of its
// answers, make. Before, packets stood in a bucket for each run, steps in the
// messages, and calls in a table that nothing read.
func toJournals(tx kv.Tx) error {
	if err := createTables(tx); err != nil {
		return err
	}
	m := importer{tx: tx, messages: map[string]oldMessage{}, labels: map[string][]string{}}
	if err := m.readMessages(); err != nil {
		return err
	}
	var runs []oldRun
	tableRuns.scan(tx, "", func(key string, value []byte) bool {
		var r oldRun
		if json.Unmarshal(value, &r) == nil && r.ID == key { // a damaged record stays as it is
			runs = append(runs, r)
		}
		return true
	})
	slices.SortFunc(runs, func(a, b oldRun) int { return strings.Compare(a.ID, b.ID) })
	for i, r := range runs {
		if err := m.run(r, uint64(i)); err != nil {
			return fmt.Errorf("run %s: %w", r.ID, err)
		}
	}
	if err := m.writeMessages(); err != nil {
		return err
	}
	return errors.Join(tx.DeleteTable("packets"), tx.DeleteTable("tool_calls"))
}

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
}

// oldMessage is what of a message was kept otherwise.
type oldMessage struct {
	Role         string   `json:"role"`
	Parent       string   `json:"parent"`
	Text         string   `json:"text"`
	Run          string   `json:"run"`
	Model        string   `json:"model"`
	Allowed      []string `json:"allowed"`
	Status       string   `json:"status"`
	ErrorCode    string   `json:"error_code"`
	ErrorMessage string   `json:"error_message"`
	Steps        []struct {
		Text      string          `json:"text"`
		Reasoning string          `json:"reasoning"`
		Calls     []Call          `json:"calls"`
		Native    json.RawMessage `json:"native"`
		Results   []struct {
			CallID    string            `json:"call_id"`
			Name      string            `json:"name"`
			Text      string            `json:"text"`
			Failed    bool              `json:"failed"`
			Held      bool              `json:"held"`
			Documents []packet.Document `json:"documents"`
		} `json:"results"`
	} `json:"steps"`
	Citations []struct {
		Number   int             `json:"number"`
		Ref      int             `json:"ref"`
		Document packet.Document `json:"document"`
	} `json:"citations"`
}

// importer carries the old records over.
type importer struct {
	tx       kv.Tx
	messages map[string]oldMessage
	// labels are the taint of the path with each message.
	labels map[string][]string
}

func (m *importer) readMessages() error {
	tableMessages.scan(m.tx, "", func(key string, value []byte) bool {
		var old oldMessage
		if json.Unmarshal(value, &old) == nil {
			m.messages[key] = old
		}
		return true
	})
	return nil
}

// taint is that of the path with a message.
func (m *importer) taint(id string) []string {
	for seen := 0; id != "" && seen < 1<<20; seen++ {
		if labels, ok := m.labels[id]; ok {
			return labels
		}
		id = m.messages[id].Parent
	}
	return nil
}

// run writes the journal of one run.
func (m *importer) run(r oldRun, number uint64) error {
	shown, labels := m.packets(r)
	live := r.StopReason == ""
	begun := journal.Begun{User: r.Owner, Session: r.Session, Question: r.UserMessage, Answers: r.Responses, Kind: journal.KindChat, Labels: m.taint(r.UserMessage)}
	if r.Continues {
		begun.Kind = journal.KindContinue
	}
	for _, id := range r.Responses {
		begun.Models = append(begun.Models, m.messages[id].Model)
		begun.Allowed = m.messages[id].Allowed
	}
	records := append([]journal.Record{journal.Of(begun)}, shown...)
	for i, id := range r.Responses {
		old := m.messages[id]
		m.labels[id] = journal.Join(journal.Join(m.taint(old.Parent), m.labels[id]), labels[i])
		if len(shown) == 0 && old.Run == r.ID {
			records = append(records, told(i, old)...)
		}
		if old.Run == r.ID { // of an answer that went on, all steps are kept here
			records = append(records, steps(i, old)...)
		}
		if !live {
			records = append(records, journal.Of(outcome(i, old, m.labels[id])))
		}
	}
	if !live {
		records = append(records, journal.Of(journal.End{Reason: r.StopReason}))
	}
	log, err := journal.Import(m.tx, r.ID, max(r.Epoch, 1), live, number, records)
	if err != nil {
		return err
	}
	run, err := get[Run](m.tx, tableRuns, r.ID)
	if err != nil {
		return err
	}
	if !live {
		run.Ends = map[int64]int64{run.Epoch: int64(len(shown)), log.Epoch(): log.Last()}
		run.Epoch = log.Epoch()
	}
	return tableRuns.put(m.tx, r.ID, run)
}

// packets reads the packets of a run, up to one that cannot be read, and the labels of
// the tools that its models used.
func (m *importer) packets(r oldRun) (records []journal.Record, labels map[int][]string) {
	labels = map[int][]string{}
	_ = m.tx.Scan(kv.Nested("packets", r.ID), "", func(_ string, value []byte) bool {
		var p packet.Packet
		if p.UnmarshalJSON(value) != nil {
			return false
		}
		if start, ok := p.Obj.(packet.ToolStart); ok && p.Placement.ModelIndex != nil {
			for _, l := range start.Labels {
				if l == "private_data" || l == "untrusted_content" {
					labels[*p.Placement.ModelIndex] = journal.Join(labels[*p.Placement.ModelIndex], []string{l})
				}
			}
		}
		records = append(records, journal.Packet(p.Placement, p.Obj))
		return true
	})
	return records, labels
}

// told is the answer of a run whose packets are lost.
func told(model int, old oldMessage) []journal.Record {
	at := packet.At(0, 0).ForModel(model)
	return []journal.Record{
		journal.Packet(at, packet.MessageStart{}), journal.Packet(at, packet.MessageDelta{Content: old.Text}), journal.Packet(at, packet.MessageEnd{}),
		journal.Packet(at, packet.Stop{Reason: packet.StopReason(old.Status)}),
	}
}

// steps are what the model was shown of an answer.
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
			records = append(records, journal.Of(journal.CallDone{Model: model, CallID: r.CallID, Name: r.Name, Outcome: string(outcome), Text: r.Text, Documents: r.Documents}))
			if r.Held {
				records = append(records, journal.Of(journal.Held{Model: model, CallID: r.CallID}))
			}
		}
	}
	return records
}

func outcome(model int, old oldMessage, labels []string) journal.Outcome {
	o := journal.Outcome{Model: model, Reason: old.Status, Labels: labels}
	for _, c := range old.Citations {
		o.Citations = append(o.Citations, packet.CitationInfo{CitationNumber: c.Number, Ref: c.Ref, Document: c.Document})
	}
	if old.ErrorCode != "" {
		o.Error = &packet.Error{Code: packet.Code(old.ErrorCode), Message: old.ErrorMessage}
	}
	return o
}

// writeMessages leaves in the messages what the tree keeps.
func (m *importer) writeMessages() error {
	for id, old := range m.messages {
		if old.Role != RoleAssistant {
			continue
		}
		message, err := get[Message](m.tx, tableMessages, id) // which does not read the steps
		if err != nil {
			return err
		}
		message.Text, message.Labels = "", m.labels[id]
		for _, s := range old.Steps {
			for i, r := range s.Results {
				if r.Held && i < len(s.Calls) {
					message.Held = append(message.Held, s.Calls[i])
				}
			}
		}
		if err := tableMessages.put(m.tx, id, message); err != nil {
			return err
		}
	}
	return nil
}
