package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// MaxModels is how many models may answer side by side.
const MaxModels = 4

// RootMessage as ParentMessageID begins the conversation anew with another first
// message.
const RootMessage = "root"

// Send is a message of a person.
type Send struct {
	// RequestID is a UUID that makes the request idempotent, "" for none.
	RequestID string
	// SessionID is "" for a new session.
	SessionID string
	// ParentMessageID is the answer that the message follows, "" for the session's
	// current one, RootMessage for none.
	ParentMessageID string
	Text            string
	// Files are the ids of files that the message carries, at most
	// store.MaxMessageFiles.
	Files []string
	// AgentID is the agent that answers, "" for none.
	AgentID string `json:",omitempty"` // so that requests without one hash as before
	// Models are names; nil for the agent's model, or the default one.
	Models []string
	// Tools is an allow-list of names; nil for all that the agent has.
	Tools []string
	// ForcedTool must be used first; "" for none. It has to be one of the agent's.
	ForcedTool string
	// Zone is the time zone of the person, an IANA name such as Europe/Oslo: what day it
	// is depends on it. "" and one that is not known stand for the host's own.
	Zone    string `json:",omitempty"`
	Private bool
}

// Regenerate asks for another answer to the same message.
type Regenerate struct {
	RequestID string
	// MessageID is the answer to write again, or the message to answer again.
	MessageID string
	Models    []string
}

// Ack says that a request is durable and its run has begun.
type Ack struct {
	Run           string
	Epoch         int64
	SessionID     string
	UserMessageID string
	// MessageIDs are the answers being written, by model index.
	MessageIDs []string
	// Text is the message as it is stored, where that is not what was sent.
	Text string
}

// Send takes a message. When it returns without an error the message is on disk
// and the run goes on by itself, whoever watches.
func (s *Service) Send(ctx context.Context, p identity.Principal, in Send) (Ack, error) {
	asked := identity.Resource{Kind: identity.SessionKind, Owner: p.UserID()}
	if err := identity.Authorize(p, identity.AskSession, asked); err != nil {
		return Ack{}, err
	}
	if err := checkText(in.Text); err != nil {
		return Ack{}, err
	}
	body, sent := hash(in), in.Text // what the person sent
	if ack, repeated, err := s.repeated(ctx, p, in.RequestID, body, sent); repeated || err != nil {
		return ack, err
	}
	if err := s.checkFiles(ctx, p, in.Files); err != nil {
		return Ack{}, err
	}
	screened, err := s.screen(ctx, p, in.Text)
	if err != nil {
		return Ack{}, err
	}
	in.Text = screened.Text
	if err := checkAllowed(in.Tools); err != nil {
		return Ack{}, err
	}
	begin := store.BeginRun{
		Zone: knownZone(in.Zone), Allowed: allowed(in.Tools, in.ForcedTool), RequestID: in.RequestID, BodyHash: body, SessionID: in.SessionID,
		Text: in.Text, NewTitle: Title(in.Text), Private: in.Private, Parent: in.ParentMessageID, Files: in.Files,
		Agent: in.AgentID,
	}
	if in.ParentMessageID == RootMessage {
		begin.Parent, begin.Root = "", true
	}
	missing := CodeUnknownSession
	if begin.Parent != "" {
		missing = CodeUnknownMessage
	}
	wants := selection{allow: in.Tools, forced: in.ForcedTool}
	ack, err := s.begin(ctx, p, begin, in.Models, wants, missing, screened.Notices...)
	if in.Text != sent && err == nil {
		ack.Text = in.Text
	}
	return ack, err
}

// repeated returns the Ack of a request that was taken before. What it named, such as an
// agent or a model, may be gone since: it was there when it counted. sent is the text of the
// request, "" for none.
func (s *Service) repeated(ctx context.Context, p identity.Principal, request, body, sent string) (Ack, bool, error) {
	begun, found, err := s.cfg.Records.Runs.Repeated(ctx, p, store.BeginRun{RequestID: request, BodyHash: body})
	if err != nil {
		return Ack{}, false, s.fault(err, CodeUnknownSession)
	}
	ack := ackOf(begun)
	if sent != "" && begun.UserMessage.Text != sent {
		ack.Text = begun.UserMessage.Text
	}
	return ack, found, nil
}

// ackOf says what has begun.
func ackOf(begun store.Begun) Ack {
	return Ack{
		Run: begun.Run.ID, Epoch: begun.Run.Epoch, SessionID: begun.Session.ID,
		UserMessageID: begun.UserMessage.ID, MessageIDs: begun.Run.Responses,
	}
}

// Regenerate answers a message once more, by the same agent and with no other tools,
// as a sibling of the earlier answer.
func (s *Service) Regenerate(ctx context.Context, p identity.Principal, in Regenerate) (Ack, error) {
	if in.MessageID == "" {
		return Ack{}, invalid("Say which message is to be answered again.")
	}
	m, err := s.cfg.Records.Messages.Get(ctx, p, in.MessageID)
	if err != nil {
		return Ack{}, s.fault(err, CodeUnknownMessage)
	}
	body := hash(in)
	if ack, repeated, err := s.repeated(ctx, p, in.RequestID, body, ""); repeated || err != nil {
		return ack, err
	}
	begin := store.BeginRun{
		RequestID: in.RequestID, BodyHash: body, SessionID: m.Session, Regenerate: m.ID, Agent: m.Agent,
		Allowed: m.Allowed,
	}
	return s.begin(ctx, p, begin, in.Models, selection{allow: m.Allowed}, CodeUnknownMessage)
}

// begin works out the setup of a run and sets it going. missing is the code for a
// session or message that is not there; notices begin the run.
func (s *Service) begin(
	ctx context.Context, p identity.Principal, in store.BeginRun, names []string, sel selection, missing fault.Code,
	notices ...packet.Notice,
) (Ack, error) {
	agent, ofAgent, err := s.agent(ctx, p, &in)
	if err != nil {
		return Ack{}, err
	}
	models, ofModel, err := s.answering(names, agent)
	if err != nil {
		return Ack{}, err
	}
	private, err := s.private(ctx, p, in)
	if err != nil {
		return Ack{}, s.fault(err, missing)
	}
	sel.agent = agent
	if sel, err = s.resolve(ctx, sel); err != nil {
		return Ack{}, err
	}
	if in.Allowed != nil {
		in.Allowed = allowed(sel.allow, sel.forced)
	}
	sel.searches = slices.ContainsFunc(models, func(m llm.Model) bool { return m.Info().NativeSearch })
	tools, ofTools, err := s.pick(ctx, p, sel, private)
	if err != nil {
		return Ack{}, err
	}
	for _, m := range models {
		in.Models = append(in.Models, m.Info().Name)
	}
	begun, err := s.start(ctx, p, in, setup{
		agent: agent, models: models, tools: tools, named: sel.namedOf(tools), research: sel.researches(),
		forced: sel.forcedOf(tools), noServerTools: !sel.takes(sel.search()), private: private,
		notices: slices.Concat(notices, ofAgent, ofModel, ofTools),
	})
	if err != nil {
		if fault, ok := err.(*Error); ok {
			return Ack{}, fault
		}
		return Ack{}, s.fault(err, missing)
	}
	return ackOf(begun), nil
}

func (s *Service) models(names []string) ([]llm.Model, error) {
	if len(names) == 0 {
		names = []string{s.cfg.Models.Default()}
	}
	if len(names) > MaxModels {
		return nil, invalid("At most %d models can answer side by side.", MaxModels)
	}
	models := make([]llm.Model, len(names))
	for i, name := range names {
		m, ok := s.cfg.Models.Get(name)
		if !ok {
			return nil, &Error{
				Code: CodeUnknownModel, Message: fmt.Sprintf("There is no model named %q. Choose another model.",
					shown(name)),
			}
		}
		models[i] = m
	}
	return models, nil
}

// shown cuts a name from outside to what a sentence can hold.
func shown(name string) string {
	const most = 80
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

// private tells whether the conversation that a run belongs to is private.
func (s *Service) private(ctx context.Context, p identity.Principal, in store.BeginRun) (bool, error) {
	if in.SessionID == "" {
		return in.Private, nil
	}
	known, err := s.cfg.Records.Sessions.Get(ctx, p, in.SessionID)
	return known.Private, err
}

// hash is what tells two requests with one id apart.
func hash(request any) string {
	data, err := json.Marshal(request)
	if err != nil { // strings, slices of them and booleans always encode
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
