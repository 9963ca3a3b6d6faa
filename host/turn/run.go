package turn

import (
	"context"
	"encoding/json"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolrun"
	"github.com/bulkhead-host/bulkhead/host/window"
)

// setup is what all models of a turn share. It is immutable once the run began.
type setup struct {
	models []llm.Model
	tools  []tool.Tool
	// named are the tools that the request or the agent names.
	named []string
	// research says that the model may hand tasks to agents.
	research bool
	forced   string
	// noServerTools says that models' providers may not run tools of their own.
	noServerTools bool
	// agent is who answers, the zero one for the default.
	agent store.Agent
	// notices say what the person or the agent asked for and is not there now.
	notices []packet.Notice
	// private says that nothing that is remembered may be used.
	private bool

	begun store.Begun
	// before is the answer that goes on, as it was; the zero one for any other run.
	before Message
	path   path
	// memories are what is remembered about the person, the newest first.
	memories []window.Memory
	// refs and documents grow with the run; both are safe for concurrent use.
	refs      *toolrun.Refs
	documents *cite.Documents
	callID    func() string
}

// start makes the run durable and sets it going. No transaction is held from
// here on.
func (s *Service) start(ctx context.Context, p identity.Principal, in store.BeginRun, set setup) (store.Begun, error) {
	if err := s.enter(); err != nil {
		return store.Begun{}, err
	}
	handed := false
	defer func() {
		if !handed {
			s.running.Done()
		}
	}()
	var beginning *journal.Beginning
	in.Also = func(tx kv.Tx, begun store.Begun) (err error) {
		set.begun = begun
		if beginning, err = s.cfg.Journal.Begin(begun.Run.ID, begun.Run.Epoch, owner,
			s.beginning(p, in, set)...); err != nil {
			return err
		}
		return beginning.Write(tx)
	}
	begun, err := s.cfg.Records.Runs.Begin(ctx, p, in)
	if err != nil || begun.Replayed {
		return begun, err
	}
	set.begun = begun
	live := s.register(begun, beginning.Lease(), len(set.models))
	handed = true
	go func() {
		defer s.running.Done()
		live.work(p, set)
	}()
	s.cfg.Changed(p.UserID(), begun.Session.ID)
	return begun, nil
}

// owner names who holds the leases of runs that this process works on.
const owner = "turn"

// beginning are the first records of a run: what it begins with, and what a client
// sees first.
func (s *Service) beginning(p identity.Principal, in store.BeginRun, set setup) []journal.Record {
	begun := set.begun
	fact := journal.Begun{
		User: p.UserID(), Origin: string(p.Origin()), Session: begun.Session.ID, Question: begun.UserMessage.ID,
		Answers: begun.Run.Responses,
		Path:    begun.Path, Text: begun.UserMessage.Text, Models: in.Models, Allowed: begun.Responses[0].Allowed,
		Forced: set.forced,
		Kind:   journal.KindChat, Private: set.private, Labels: begun.Labels,
	}
	for _, f := range begun.UserMessage.Files {
		fact.Files = append(fact.Files, f.ID)
	}
	if begun.Run.Continues {
		fact.Kind = journal.KindContinue
	}
	for _, c := range begun.Held {
		fact.Held = append(fact.Held, c.ID)
	}
	if set.agent.ID != "" {
		fact.Agent, _ = json.Marshal(set.agent) // texts, lists of them and numbers always encode
	}
	records := []journal.Record{journal.Of(fact)}
	at := packet.At(0, 0)
	if begun.SessionCreated {
		records = append(records, journal.Packet(at,
			packet.SessionCreated{SessionID: begun.Session.ID, Title: begun.Session.Title}))
	}
	started := packet.RunStarted{UserMessageID: begun.UserMessage.ID}
	for i, m := range begun.Responses {
		started.Responses = append(started.Responses, packet.Response{ModelIndex: i, MessageID: m.ID, Model: m.Model})
	}
	records = append(records, journal.Packet(at, started))
	for _, notice := range set.notices {
		records = append(records, journal.Packet(at, notice))
	}
	return records
}

// enter counts a run in, unless the service is closing.
func (s *Service) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return &Error{Code: CodeClosing, Message: "The host is shutting down. Nothing was stored."}
	}
	s.running.Add(1)
	return nil
}

// register makes the run known to readers and to Stop. A run that begins while
// the service closes is ended at once.
func (s *Service) register(begun store.Begun, lease *journal.Lease, models int) *worker {
	ctx, cancel := context.WithCancelCause(context.Background())
	w := &worker{service: s, ctx: ctx, lease: lease, liveRun: &liveRun{
		owner: begun.Run.Owner, session: begun.Session.ID, cancel: cancel, log: lease.Log(), done: make(chan struct{}),
	}}
	for range models {
		modelCtx, cancelModel := context.WithCancelCause(ctx)
		w.modelCtx = append(w.modelCtx, modelCtx)
		w.cancelModel = append(w.cancelModel, cancelModel)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[begun.Run.ID] = w.liveRun
	if s.closing {
		cancel(errShutdown)
	}
	return w
}
