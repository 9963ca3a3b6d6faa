package rest

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/text/line"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

const (
	// maxPage is the largest page of a list.
	maxPage = 200
	// maxTitle is the longest title of a session, in code points.
	maxTitle = 200
)

type SessionView struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
	Private   bool   `json:"private,omitempty"`
	Pinned    bool   `json:"pinned,omitempty"`
	LiveRun   string `json:"live_run,omitempty"`
	Leaf      string `json:"leaf,omitempty"`
}

type MessageView struct {
	ID       string `json:"id"`
	ParentID string `json:"parent_id,omitempty"`
	Role     string `json:"role"`
	Text     string `json:"text"`
	// AgentID is the agent that was asked, or that answered. It may be gone.
	AgentID    string `json:"agent_id,omitempty"`
	Model      string `json:"model,omitempty"`
	ModelIndex *int   `json:"model_index,omitempty"`
	Run        string `json:"run,omitempty"`
	// LaterRuns are the runs that went on with the answer, oldest first.
	LaterRuns []string `json:"later_runs,omitempty"`
	// Held are the ids of the calls that were held back while models were compared
	// and have not run.
	Held      []string `json:"held,omitempty"`
	Status    string   `json:"status"`
	CreatedAt string   `json:"created_at"`
	// Files are what the person attached.
	Files []FileRefView `json:"files,omitempty"`
	// Error is what ended the answer, for a person.
	Error *answerError `json:"error,omitempty"`
}

// answerError is the packet.Error that ended an answer, as it is kept.
type answerError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func viewSession(x store.Session) SessionView {
	return SessionView{ID: x.ID, Title: x.Title, CreatedAt: stamp(x.CreatedAt), UpdatedAt: stamp(x.UpdatedAt),
		Private: x.Private, Pinned: x.Pinned}
}

func ViewMessage(m turn.Message) MessageView {
	v := MessageView{ID: m.ID, ParentID: m.Parent, Role: m.Role, Text: m.Text, AgentID: m.Agent, Model: m.Model,
		Run:       m.Run,
		LaterRuns: m.LaterRuns, Status: m.Status, CreatedAt: stamp(m.CreatedAt)}
	if m.Role == store.RoleAssistant {
		v.ModelIndex = &m.ModelIndex
		for _, c := range m.Held {
			v.Held = append(v.Held, c.ID)
		}
	}
	if m.ErrorCode != "" {
		v.Error = &answerError{m.ErrorCode, m.ErrorMessage}
	}
	return v
}

// List lists the pinned conversations, then the newest.
func (s sessions) List(c *fiber.Ctx) error {
	limit, err := queryInt(c, "limit", 50)
	if err != nil {
		return err
	}
	limit = min(max(limit, 1), maxPage)
	who := caller.Of(c)
	list, err := s.cfg.Records.Sessions.List(s.cfg.Context, who.Principal, int(limit)+1, c.Query("before"))
	if err = s.readable(err); err != nil {
		return sessionFault(err)
	}
	more := len(list) > int(limit)
	views := make([]SessionView, 0, len(list))
	for _, x := range list[:min(len(list), int(limit))] {
		v := viewSession(x)
		v.LiveRun = s.liveRunOf(s.cfg.Context, who, x.ID)
		views = append(views, v)
	}
	return c.JSON(fiber.Map{"sessions": views, "more": more})
}

// liveRunOf returns the live run of a session, "" where it has none.
func (s sessions) liveRunOf(ctx context.Context, who caller.Caller, session string) string {
	run, err := s.cfg.Records.Runs.Live(ctx, who.Principal, session)
	if err != nil {
		return ""
	}
	return run.ID
}

// sessionFault names the session where the store has no record.
func sessionFault(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fault.Of(fault.UnknownSession)
	}
	return err
}

// Get returns a conversation with the whole tree of its messages.
func (s sessions) Get(c *fiber.Ctx) error {
	who, id := caller.Of(c), c.Params("id")
	session, err := s.cfg.Records.Sessions.Get(s.cfg.Context, who.Principal, id)
	if err != nil {
		return sessionFault(err)
	}
	messages, err := s.cfg.Turns.Messages(s.cfg.Context, who.Principal, id)
	if err = s.readable(err); err != nil {
		return sessionFault(err)
	}
	live, _, err := s.cfg.Turns.Live(s.cfg.Context, who.Principal, id)
	if err != nil {
		return err
	}
	view := viewSession(session)
	view.Leaf = session.Leaf
	if len(live) > 0 {
		view.LiveRun = live[0].Run
	}
	views := make([]MessageView, 0, len(messages))
	here := files(s).filesHere(who, messages)
	for _, m := range messages {
		v := ViewMessage(m)
		v.Files = viewRefs(m.Files, here)
		views = append(views, v)
	}
	return c.JSON(fiber.Map{"session": view, "messages": views, "live_runs": frame.LiveRuns(live)})
}

// patchBody is what changes in a conversation; what is absent stays as it is.
type patchBody struct {
	Title  *string `json:"title"`
	Pinned *bool   `json:"pinned"`
}

// Patch renames a conversation, or puts it before the others.
func (s sessions) Patch(c *fiber.Ctx) error {
	var b patchBody
	if err := readJSON(c, &b); err != nil {
		return err
	}
	if b.Title == nil && b.Pinned == nil {
		return fault.New(fault.Invalid, "Say what is to change: title, pinned, or both.")
	}
	if b.Title != nil {
		*b.Title = line.Clean(*b.Title)
		if *b.Title == "" || utf8.RuneCountInString(*b.Title) > maxTitle {
			return fault.New(fault.Invalid, "A title has 1 to 200 characters.")
		}
	}
	who, id := caller.Of(c), c.Params("id")
	var session store.Session
	var err error
	if b.Title != nil {
		session, err = s.cfg.Records.Sessions.Rename(s.cfg.Context, who.Principal, id, *b.Title)
	}
	if err == nil && b.Pinned != nil {
		session, err = s.cfg.Records.Sessions.Pin(s.cfg.Context, who.Principal, id, *b.Pinned)
	}
	if err != nil {
		return sessionFault(err)
	}
	s.ask.Publish(who, event.TopicSession, session.ID, "updated")
	return c.JSON(fiber.Map{"session": viewSession(session)})
}

// Delete deletes a conversation and all that belongs to it.
func (s sessions) Delete(c *fiber.Ctx) error {
	who, id := caller.Of(c), c.Params("id")
	if err := s.cfg.Records.Sessions.Delete(s.cfg.Context, who.Principal, id); err != nil {
		return sessionFault(err)
	}
	s.ask.Publish(who, event.TopicSession, id, "removed")
	return c.SendStatus(fiber.StatusNoContent)
}
