package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/runlog"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// Recover ends the runs that a crash cut off: each gets what is durable of its
// packets, in a new epoch, and stop{interrupted}. It is called once, before the
// first request. A run that cannot be recovered is named in the error; the others
// are recovered all the same.
func (s *Service) Recover(ctx context.Context) error {
	runs, err := s.Store.UnfinishedRuns(ctx, identity.ForHost("recover what a crash cut off"))
	problems := []error{err}
	for _, run := range runs {
		if err := s.recover(ctx, run); err != nil {
			problems = append(problems, fmt.Errorf("recover run %s: %w", run.ID, err))
		}
	}
	return errors.Join(problems...)
}

func (s *Service) recover(ctx context.Context, run store.Run) error {
	owner := identity.ForUser(run.Owner, "recover a run")
	_, entries, err := s.Store.Packets(ctx, owner, run.ID, 0, 0)
	if err != nil {
		return err
	}
	packets := make([]packet.Packet, 0, len(entries))
	for _, e := range entries {
		var p packet.Packet
		if err := p.UnmarshalJSON(e.JSON); err != nil {
			break // what follows a damaged packet cannot be placed
		}
		packets = append(packets, p)
	}
	if !begun(packets) {
		packets = s.beginning(ctx, owner, run)
	}
	log := runlog.New(run.ID, run.Epoch+1)
	for _, p := range packets {
		log.Append(p.Placement, p.Obj)
	}
	for _, c := range runlog.Unfinished(packets, len(run.Responses)) {
		log.Append(c.Place, c.Obj)
	}
	whole, err := log.Read(ctx, 0)
	if err != nil {
		return err
	}
	last := whole[len(whole)-1].Packet.Obj.(packet.Stop) // Unfinished ends every log with the run's stop
	return s.Store.ReplaceRun(ctx, run.ID, log.Epoch(), packetEntries(whole), store.Finish{
		StopReason: string(last.Reason), Messages: recovered(run, whole), LastSeq: log.Last(),
	})
}

// begun tells whether a log has its run_started.
func begun(packets []packet.Packet) bool {
	for _, p := range packets {
		if _, ok := p.Obj.(packet.RunStarted); ok {
			return true
		}
	}
	return false
}

// beginning is how a log begins whose packets were lost.
func (s *Service) beginning(ctx context.Context, owner identity.Principal, run store.Run) []packet.Packet {
	started := packet.RunStarted{UserMessageID: run.UserMessage, Responses: []packet.Response{}}
	for i, id := range run.Responses {
		response := packet.Response{ModelIndex: i, MessageID: id}
		if m, err := s.Store.Message(ctx, owner, id); err == nil { // else the name alone is missing
			response.Model = m.Model
		}
		started.Responses = append(started.Responses, response)
	}
	return []packet.Packet{{Obj: started}}
}

// recovered reads the answers back from their packets.
func recovered(run store.Run, entries []runlog.Entry) []store.Message {
	out := make([]store.Message, len(run.Responses))
	for i, id := range run.Responses {
		out[i] = store.Message{ID: id, Status: store.StatusInterrupted}
		r := replay{model: i, message: &out[i]}
		for _, e := range entries {
			if m := e.Packet.Placement.ModelIndex; m != nil && *m == i {
				r.see(e.Packet)
			}
		}
		r.message.Text = r.shown.String()
		r.step.Text = cite.ToRefs(r.message.Text, r.refs())
		if r.step.Text != "" || r.step.Reasoning != "" || len(r.step.Calls) > 0 {
			r.message.Steps = append(r.message.Steps, r.step)
		}
	}
	return out
}

// replay rebuilds one answer from its packets.
type replay struct {
	model   int
	message *store.Message
	shown   strings.Builder
	step    store.Step
}

func (r *replay) see(p packet.Packet) {
	if p.Placement.SubTurnIndex != nil { // a nested agent's blocks are not the answer
		return
	}
	switch o := p.Obj.(type) {
	case packet.ReasoningDelta:
		r.step.Reasoning += o.Reasoning
	case packet.MessageDelta:
		r.shown.WriteString(o.Content)
	case packet.CitationInfo:
		r.message.Citations = append(r.message.Citations, store.Citation{
			Number: o.CitationNumber, Ref: o.Ref, Document: store.Document(o.Document),
		})
	case packet.ToolStart:
		r.step.Calls = append(r.step.Calls, store.Call{ID: o.CallID, Name: o.Tool, Arguments: "{}"})
		r.step.Results = append(r.step.Results, store.Result{
			CallID: o.CallID, Name: o.Tool, Failed: true, Text: "The call's result was lost when the host stopped.",
		})
	case packet.ToolArgs:
		r.arguments(o)
	case packet.ToolDocuments:
		for i := range r.step.Results {
			if r.step.Results[i].CallID == o.CallID {
				r.step.Results[i].Documents = append(r.step.Results[i].Documents, storedDocuments(o.Documents)...)
			}
		}
	case packet.Error:
		r.message.ErrorCode, r.message.ErrorMessage = string(o.Code), o.Message
	case packet.Stop:
		r.message.Status = string(o.Reason)
	}
}

// refs maps the answer's citation numbers to refs.
func (r *replay) refs() map[int]int {
	refs := map[int]int{}
	for _, c := range r.message.Citations {
		refs[c.Number] = c.Ref
	}
	return refs
}

func (r *replay) arguments(o packet.ToolArgs) {
	for i := range r.step.Calls {
		if r.step.Calls[i].ID == o.CallID && json.Valid(o.Arguments) {
			r.step.Calls[i].Arguments = string(o.Arguments)
		}
	}
}
