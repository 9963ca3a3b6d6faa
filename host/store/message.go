package store

import (
	"context"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// The statuses of messages. A user message is always completed. The final ones
// are also the reasons for which a run stops.
const (
	StatusRunning       = "running"
	StatusCompleted     = "completed"
	StatusUserCancelled = "user_cancelled"
	StatusError         = "error"
	StatusInterrupted   = "interrupted"
	StatusAwaitingUser  = "awaiting_user"
)

// Message is one message of a session's tree.
type Message struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	Owner   string `json:"owner"`
	// Parent is the message that this one follows, "" for a first one.
	Parent string `json:"parent,omitempty"`
	// Role is RoleUser or RoleAssistant.
	Role string `json:"role"`
	// Text is what a person wrote. That of an answer is in the journals of its runs.
	Text string `json:"text,omitempty"`
	// Files are what the person attached, in a user message.
	Files []FileRef `json:"files,omitempty"`
	// Zone is the time zone in which a question was asked, an IANA name, "" for none.
	Zone string `json:"zone,omitempty"`
	// Agent is the id of the agent that was asked, in a user message, or that
	// answers; "" for none. It may have been removed since.
	Agent string `json:"agent,omitempty"`
	// Allowed are the tools to which the question limited the answer, nil for no
	// limit. An answer that is written again or goes on keeps to them.
	Allowed []string `json:"allowed,omitzero"`
	// Model, ModelIndex and Run say who answered, in an assistant message.
	Model      string `json:"model,omitempty"`
	ModelIndex int    `json:"model_index,omitempty"`
	Run        string `json:"run,omitempty"`
	// LaterRuns are the runs that went on with the answer, oldest first.
	LaterRuns []string `json:"later_runs,omitempty"`
	// Status is of the Status constants.
	Status string `json:"status"`
	// ErrorCode and ErrorMessage say what went wrong, for a person.
	ErrorCode    string `json:"error_code,omitempty"`
	ErrorMessage string `json:"error_message,omitempty"`
	// Held are the calls that wait until the answer is selected, and Labels the taint
	// of the path with the answer. Both are read off the journals of its runs, which
	// hold all else that an answer says.
	Held      []Call    `json:"held,omitempty"`
	Labels    []string  `json:"labels,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// EndedAt is the zero time while the status is StatusRunning.
	EndedAt time.Time `json:"ended_at,omitzero"`
}

// Call is a tool call as the model made it.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is the JSON text as the model wrote it; it need not be valid.
	Arguments string `json:"arguments,omitempty"`
}

// Get returns a message, or ErrNotFound.
func (s Messages) Get(ctx context.Context, p identity.Principal, id string) (Message, error) {
	var message Message
	err := s.view(ctx, func(tx kv.Tx) (err error) {
		message, err = ownMessage(tx, p, id)
		return err
	})
	return message, err
}

func ownMessage(tx kv.Tx, p identity.Principal, id string) (Message, error) {
	return own[Message](tx, table.Messages, p, identity.ReadMessage, id)
}

// sessionMessage returns a message of the session, or ErrNotFound.
func sessionMessage(tx kv.Tx, sessionID, id string) (Message, error) {
	if id == "" || !table.SessionMsgs.Has(tx, table.Join(sessionID, id)) {
		return Message{}, notFound("message", id)
	}
	message, err := table.Get[Message](tx, table.Messages, id)
	if err == ErrNotFound {
		return Message{}, notFound("message", id)
	}
	return message, err
}

// putMessage writes a message and its place in the session.
func putMessage(tx kv.Tx, m Message) error {
	if err := table.SessionMsgs.PutRaw(tx, table.Join(m.Session, m.ID), []byte{}); err != nil {
		return err
	}
	return table.Messages.Put(tx, m.ID, m)
}
