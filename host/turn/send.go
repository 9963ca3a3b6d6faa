package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
)

// MaxTextBytes is the largest question, in bytes of UTF-8.
const MaxTextBytes = 256 << 10

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
	Private    bool
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
		Allowed: allowed(in.Tools, in.ForcedTool), RequestID: in.RequestID, BodyHash: body, SessionID: in.SessionID,
		Text: in.Text, NewTitle: Title(in.Text), Private: in.Private, Parent: in.ParentMessageID, Files: in.Files, Agent: in.AgentID,
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
	begun, found, err := s.Store.Repeated(ctx, p, store.BeginRun{RequestID: request, BodyHash: body})
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

// maxNameBytes is the greatest length of the name of a tool in an allow-list.
const maxNameBytes = 256

// checkAllowed refuses an allow-list that is too large to be kept.
func checkAllowed(names []string) error {
	if len(names) > store.MaxAgentTools {
		return invalid("At most %d tools can be named.", store.MaxAgentTools)
	}
	if slices.ContainsFunc(names, func(name string) bool { return len(name) > maxNameBytes }) {
		return invalid("A name in the list of tools is longer than %d bytes.", maxNameBytes)
	}
	return nil
}

// allowed is what an answer is limited to: an allow-list with the forced tool, nil
// for no limit.
func allowed(names []string, forced string) []string {
	if names == nil || forced == "" || slices.Contains(names, forced) {
		return names
	}
	return append(slices.Clip(names), forced)
}

// screen lets the hook see a message. What it makes of it is held to the same rules.
func (s *Service) screen(ctx context.Context, p identity.Principal, text string) (Screened, error) {
	if s.Screen == nil {
		return Screened{Text: text}, nil
	}
	screened, err := s.Screen(ctx, p, text)
	var known *Error
	switch {
	case errors.As(err, &known):
		return Screened{}, known
	case err != nil:
		return Screened{}, s.fault(fmt.Errorf("screen a message: %w", err), CodeInternal)
	}
	return screened, checkText(screened.Text)
}

// Regenerate answers a message once more, by the same agent and with no other tools,
// as a sibling of the earlier answer.
func (s *Service) Regenerate(ctx context.Context, p identity.Principal, in Regenerate) (Ack, error) {
	if in.MessageID == "" {
		return Ack{}, invalid("Say which message is to be answered again.")
	}
	m, err := s.Store.Message(ctx, p, in.MessageID)
	if err != nil {
		return Ack{}, s.fault(err, CodeUnknownMessage)
	}
	body := hash(in)
	if ack, repeated, err := s.repeated(ctx, p, in.RequestID, body, ""); repeated || err != nil {
		return ack, err
	}
	begin := store.BeginRun{
		RequestID: in.RequestID, BodyHash: body, SessionID: m.Session, Regenerate: m.ID, Agent: m.Agent, Allowed: m.Allowed,
	}
	return s.begin(ctx, p, begin, in.Models, selection{allow: m.Allowed}, CodeUnknownMessage)
}

// selection is which tools a request wants, of those that the agent has. Lists hold
// identities, or what somebody wrote where no tool goes by it.
type selection struct {
	agent  store.Agent
	allow  []string
	forced string
	// searches tells that a model that answers may use its provider's web search,
	// which counts as the tool llm.SearchTool.
	searches bool
	// meant are the tools that the lists and forced name, by the word for each.
	meant map[string]toolset.Meant
}

// resolve puts the identities of the tools that are meant into the lists.
func (s *Service) resolve(ctx context.Context, sel selection) (selection, error) {
	words := slices.Concat(sel.agent.Tools, sel.allow)
	if sel.forced != "" {
		words = append(words, sel.forced)
	}
	sel.meant = map[string]toolset.Meant{}
	if s.Resolve == nil || len(words) == 0 {
		return sel, nil
	}
	meant, err := s.Resolve(ctx, words)
	if err != nil {
		return sel, s.fault(fmt.Errorf("look up tools: %w", err), CodeInternal)
	}
	ids := make([]string, len(meant))
	for i, m := range meant {
		ids[i], sel.meant[m.ID] = m.ID, m
	}
	agents, asked := len(sel.agent.Tools), len(sel.agent.Tools)+len(sel.allow)
	if sel.agent.Tools != nil {
		sel.agent.Tools = ids[:agents:agents]
	}
	if sel.allow != nil {
		sel.allow = ids[agents:asked:asked]
	}
	if sel.forced != "" {
		sel.forced = ids[asked]
	}
	return sel, nil
}

// called is what a person knows a tool of the lists by.
func (sel selection) called(id string) string {
	if m, ok := sel.meant[id]; ok {
		return m.Name
	}
	return id
}

// has tells whether the agent has a tool, takes whether the request allows it too.
func (sel selection) has(spec tool.Spec) bool {
	return sel.agent.Tools == nil || spec.In(sel.agent.Tools)
}

func (sel selection) takes(spec tool.Spec) bool {
	return sel.has(spec) && (sel.allow == nil || spec.In(sel.allow))
}

// named are the tools that the request names, or the agent where it names none.
func (sel selection) named() []string {
	if sel.allow == nil {
		return sel.agent.Tools
	}
	return sel.allow
}

// research is research_agent, which is a tool of the loop's.
var research = tool.Spec{ID: tool.OwnID(tool.ResearchAgent), Name: tool.ResearchAgent}

// search is the search of the model's provider. It goes by the same name as a tool that
// came with the host, and who means that one means both.
func (sel selection) search() tool.Spec {
	for id, m := range sel.meant {
		if m.Name == llm.SearchTool {
			return tool.Spec{ID: id, Name: llm.SearchTool}
		}
	}
	return tool.Spec{Name: llm.SearchTool}
}

// begin works out the setup of a run and sets it going. missing is the code for a
// session or message that is not there; notices begin the run.
func (s *Service) begin(
	ctx context.Context, p identity.Principal, in store.BeginRun, names []string, sel selection, missing string,
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
		names = []string{s.Models.Default()}
	}
	if len(names) > MaxModels {
		return nil, invalid("At most %d models can answer side by side.", MaxModels)
	}
	models := make([]llm.Model, len(names))
	for i, name := range names {
		m, ok := s.Models.Get(name)
		if !ok {
			return nil, &Error{
				Code: CodeUnknownModel, Message: fmt.Sprintf("There is no model named %q. Choose another model.", shown(name)),
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

// pick assembles the tools of a turn: those available to the user that the agent
// has, cut down to the allow-list. A private conversation has none that reaches
// memory. A forced tool has to be there; of what else the request names, or the agent
// where the request names nothing, the person is told what is missing.
func (s *Service) pick(
	ctx context.Context, p identity.Principal, sel selection, private bool,
) (picked []tool.Tool, notices []packet.Notice, err error) {
	there, err := s.Tools(ctx, p.UserID())
	if err != nil {
		return nil, nil, s.fault(fmt.Errorf("list tools: %w", err), CodeInternal)
	}
	if private {
		there = without(there, func(spec tool.Spec) bool { return slices.Contains(spec.Reaches, tool.ReachesMemory) })
	}
	all := without(there, func(spec tool.Spec) bool { return !sel.has(spec) })
	if sel.forced != "" && !includes(all, sel.forced) && !(sel.forces(research) && sel.researches()) {
		return nil, nil, sel.noForced(namesOf(all))
	}
	for _, word := range sel.named() {
		if message := sel.missing(word, there, all); message != "" {
			notices = append(notices, packet.NewNotice(packet.CodeToolUnavailable, message))
		}
	}
	picked = all
	if sel.allow != nil {
		picked = without(all, func(spec tool.Spec) bool { return !sel.forces(spec) && !spec.In(sel.allow) })
	}
	if sel.researches() && len(picked) == 0 {
		notices = append(notices, packet.NewNotice(packet.CodeToolUnavailable,
			tool.ResearchAgent+" works with the other tools, and there are none; the answer is written without it."))
	}
	return picked, notices, nil
}

// missing says that a tool which is named is not among all, the tools of the agent; ""
// where it is. there are the tools of the person.
func (sel selection) missing(word string, there, all []tool.Tool) string {
	words, called := []string{word}, shown(sel.called(word))
	besides := sel.searches && sel.search().In(words) || research.In(words)
	switch {
	case includes(all, word),
		sel.searches && sel.search().In(words) && sel.has(sel.search()),
		research.In(words) && sel.has(research):
		return ""
	case includes(there, word), besides:
		return fmt.Sprintf("%s is not a tool of the agent %s; the answer is written without it.", called, sel.agent.Name)
	}
	why := sel.meant[word].Unavailable
	if why != "" {
		why = ": " + why
	}
	return fmt.Sprintf("%s is not available right now%s; the answer is written without it.", called, why)
}

// researches tells whether the model may hand tasks to agents: only where the request
// names that tool of the loop's, or the agent where the request names none.
func (sel selection) researches() bool {
	return (research.In(sel.named()) || sel.forces(research)) && sel.has(research)
}

// forces tells whether the request forces a tool.
func (sel selection) forces(spec tool.Spec) bool { return spec.In([]string{sel.forced}) }

// forcedOf is what the model calls the forced tool by, "" for none; namedOf are the
// names of those that are named.
func (sel selection) forcedOf(tools []tool.Tool) string {
	for _, t := range tools {
		if spec := t.Spec(); sel.forces(spec) {
			return spec.Name
		}
	}
	if sel.forces(research) {
		return tool.ResearchAgent
	}
	return ""
}

func (sel selection) namedOf(tools []tool.Tool) (names []string) {
	for _, t := range tools {
		if spec := t.Spec(); spec.In(sel.named()) {
			names = append(names, spec.Name)
		}
	}
	return names
}

// noForced says that the forced tool is not among those that there are.
func (sel selection) noForced(names []string) error {
	called := shown(sel.called(sel.forced))
	if sel.searches && sel.forces(sel.search()) {
		return &Error{Code: CodeUnknownTool, Message: fmt.Sprintf(
			"%s is run by the model's provider, which cannot be made to use it. Tools: %s.", called, listOrNone(names))}
	}
	message := fmt.Sprintf("There is no tool named %q now. Tools: %s.", called, listOrNone(names))
	if sel.agent.ID != "" {
		message = fmt.Sprintf(
			"The agent %s has no tool named %q now. Tools: %s.", sel.agent.Name, called, listOrNone(names))
	}
	return &Error{Code: CodeUnknownTool, Message: message}
}

func namesOf(tools []tool.Tool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Spec().Name
	}
	return names
}

// includes tells whether one of the tools is meant by a word.
func includes(tools []tool.Tool, word string) bool {
	return slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Spec().In([]string{word}) })
}

// without returns the tools whose specs leave does not name.
func without(tools []tool.Tool, leave func(tool.Spec) bool) []tool.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t tool.Tool) bool { return leave(t.Spec()) })
}

// private tells whether the conversation that a run belongs to is private.
func (s *Service) private(ctx context.Context, p identity.Principal, in store.BeginRun) (bool, error) {
	if in.SessionID == "" {
		return in.Private, nil
	}
	known, err := s.Store.Session(ctx, p, in.SessionID)
	return known.Private, err
}

func listOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func checkText(text string) error {
	switch {
	case len(text) > MaxTextBytes:
		return &Error{Code: CodeTooLarge, Message: fmt.Sprintf(
			"The message has %d KiB; at most %d KiB can be sent. Put long material into a document.",
			(len(text)+1023)>>10, MaxTextBytes>>10)}
	case !utf8.ValidString(text):
		return invalid("The message is not valid UTF-8 text.")
	case strings.ContainsRune(text, 0):
		return invalid("The message contains a NUL character.")
	case strings.TrimSpace(text) == "":
		return invalid("The message is empty.")
	}
	return nil
}

// maxTitleRunes bounds the title of a session, in characters.
const maxTitleRunes = 60

// Title makes the title of a session from its first message: the first line that
// says something, cut at a word.
func Title(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Join(strings.Fields(line), " ")
	runes := []rune(line)
	if len(runes) <= maxTitleRunes {
		return line
	}
	cut := maxTitleRunes - 1
	for i := cut; i > maxTitleRunes/2; i-- {
		if unicode.IsSpace(runes[i]) {
			cut = i
			break
		}
	}
	return strings.TrimRight(string(runes[:cut]), " ,;:.") + "…"
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
