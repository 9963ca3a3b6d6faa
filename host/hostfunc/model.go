package hostfunc

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// Models is what plugins reach of language models. It is safe for concurrent
// use.
type Models interface {
	// Complete asks a model and returns when it has answered. An error that the
	// guest is to read is a *gate.Error.
	Complete(ctx context.Context, q Question) (Answer, error)
	// Local tells whether every model of names runs on this machine; nil stands
	// for all models that there are.
	Local(names []string) bool
}

// Question is what a plugin asks a model.
type Question struct {
	// Model is the name of a model, "" for the host's default.
	Model    string
	Messages []Said
	// MaxOutputTokens is at least 1.
	MaxOutputTokens int
}

// Said is one message of a question.
type Said struct {
	// Role is system, user or assistant.
	Role string `json:"role"`
	Text string `json:"text"`
}

// Answer is what a model said.
type Answer struct {
	Model string
	Text  string
	// InputTokens and OutputTokens are 0 where the provider does not count.
	InputTokens, OutputTokens int64
	// Truncated says that the answer was cut off at MaxOutputTokens.
	Truncated bool
}

// The bounds of what is asked of a model where the grant says nothing.
const (
	// DefaultTokensPerCall and DefaultTokensPerTurn count what is asked and what is
	// answered together.
	DefaultTokensPerCall = 8192
	DefaultTokensPerTurn = 65536
	maxSaid              = 256
	// maxModelTime is how long one question may take, and what it may take where
	// the guest says nothing.
	maxModelTime = 2 * time.Minute
)

// ModelComplete is the host function that asks a model; it takes a Completion and gives a
// Completed.
const ModelComplete = "model_complete"

// modelPart serves the capability model.
func modelPart(s Services) part {
	m := model{s.Models, &ledger{}}
	return part{functions: []gate.Function{gate.Typed[Completion]{
		Name: ModelComplete, Capability: capability.Model, Handle: m.complete, Summary: Completion.summary,
		Admit: func(_ context.Context, c gate.Request, a Completion) error {
			_, err := m.question(c, a)
			return err
		},
	}.Function()}}
}

type model struct {
	models Models
	spent  *ledger
}

// Completion is what a plugin asks.
type Completion struct {
	Messages []Said `json:"messages"`
	// Model is one of those that were granted, "" for the one that answers the
	// person.
	Model     string `json:"model"`
	MaxTokens int64  `json:"max_tokens"`
	TimeoutMS int64  `json:"timeout_ms"`
}

// Completed is what it gets.
type Completed struct {
	Text      string `json:"text"`
	Model     string `json:"model"`
	Truncated bool   `json:"truncated,omitempty"`
	Tokens    int64  `json:"tokens"`
}

func (a Completion) summary() string {
	chars := 0
	for _, said := range a.Messages {
		chars += utf8.RuneCountInString(said.Text)
	}
	return fmt.Sprintf("ask a language model with %d characters", chars)
}

// question checks the arguments against what was granted.
func (m model) question(c gate.Request, a Completion) (Question, error) {
	params, ok := c.Right.Params.(*capability.ModelParams)
	switch {
	case !ok:
		return Question{}, gate.Errorf(gate.Denied, "No model was granted to this plugin.")
	case m.models == nil:
		return Question{}, gate.Errorf(gate.Unavailable, "This host lets plugins ask no model.")
	case len(a.Messages) == 0 || len(a.Messages) > maxSaid:
		return Question{}, gate.Errorf(gate.Invalid, "messages has 1 to %d entries.", maxSaid)
	case a.MaxTokens < 0 || a.TimeoutMS < 0:
		return Question{}, gate.Errorf(gate.Invalid, "max_tokens and timeout_ms are not below 0.")
	}
	for i, said := range a.Messages {
		if said.Role != "system" && said.Role != "user" && said.Role != "assistant" {
			return Question{}, gate.Errorf(gate.Invalid, "messages[%d].role is system, user or assistant.", i)
		}
	}
	name, ok := params.Choose(a.Model, c.Model)
	if !ok {
		return Question{}, gate.Errorf(gate.Denied, "This model was not granted to this plugin.")
	}
	asked := tokensOf(a.Messages)
	left := orDefault(params.TokensPerCall, DefaultTokensPerCall) - asked
	if left < 1 {
		return Question{}, gate.Errorf(gate.Quota,
			"The messages have about %d tokens, and a question and its answer may have %d.", asked, left+asked)
	}
	if a.MaxTokens > 0 {
		left = min(left, a.MaxTokens)
	}
	return Question{Model: name, Messages: a.Messages, MaxOutputTokens: int(left)}, nil
}

func (m model) complete(ctx context.Context, c gate.Request, a Completion) (any, error) {
	q, err := m.question(c, a)
	if err != nil {
		return nil, err
	}
	params := c.Right.Params.(*capability.ModelParams) // question has looked
	most := tokensOf(q.Messages) + int64(q.MaxOutputTokens)
	turn := c.Plugin + "\x00" + c.User + "\x00" + c.Run
	limit := orDefault(params.TokensPerTurn, DefaultTokensPerTurn)
	if !m.spent.take(turn, most, limit) {
		return nil, gate.Errorf(gate.Quota,
			"This plugin may use %d tokens of a model in one answer, and not enough are left.", limit)
	}
	answer, err := m.within(ctx, q, a.TimeoutMS)
	used := answer.InputTokens + answer.OutputTokens
	if err == nil && used == 0 {
		used = tokensOf(q.Messages) + tokensIn(answer.Text)
	}
	m.spent.giveBack(turn, most-used)
	if err != nil {
		return nil, err
	}
	return Completed{Text: answer.Text, Model: answer.Model, Truncated: answer.Truncated, Tokens: used}, nil
}

// within asks with a deadline of its own, so that a slow model ends the question
// and not the tool call.
func (m model) within(ctx context.Context, q Question, timeoutMS int64) (Answer, error) {
	timeout := maxModelTime
	if asked := time.Duration(min(timeoutMS, maxModelTime.Milliseconds())) * time.Millisecond; asked > 0 {
		timeout = asked
	}
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := m.models.Complete(asking, q)
	if asking.Err() != nil && ctx.Err() == nil {
		return Answer{}, gate.Errorf(gate.Timeout, "The model did not answer within %s.", timeout)
	}
	return answer, err
}

func orDefault(n, otherwise int64) int64 {
	if n == 0 {
		return otherwise
	}
	return n
}

// tokensOf estimates what messages take: four bytes are about one token.
func tokensOf(messages []Said) int64 {
	var n int64
	for _, said := range messages {
		n += tokensIn(said.Text)
	}
	return n
}

func tokensIn(text string) int64 { return int64(len(text)+3) / 4 }
