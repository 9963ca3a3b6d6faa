package plugin

import (
	"context"
	"fmt"
	"sync"
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

// model serves the capability model.
type model struct {
	models Models
	spent  *ledger
}

type completeArgs struct {
	Messages []Said `json:"messages"`
	// Model is one of those that were granted, "" for the one that answers the
	// person.
	Model     string `json:"model"`
	MaxTokens int64  `json:"max_tokens"`
	TimeoutMS int64  `json:"timeout_ms"`
}

type completeResult struct {
	Text      string `json:"text"`
	Model     string `json:"model"`
	Truncated bool   `json:"truncated,omitempty"`
	Tokens    int64  `json:"tokens"`
}

func (m model) functions() []gate.Function {
	return []gate.Function{gate.Typed[completeArgs]{
		Name: "model_complete", Capability: capability.Model, Handle: m.complete, Summary: completeArgs.summary,
		Admit: func(_ context.Context, c gate.Request, a completeArgs) error {
			_, err := m.question(c, a)
			return err
		},
	}.Function()}
}

func (a completeArgs) summary() string {
	chars := 0
	for _, said := range a.Messages {
		chars += utf8.RuneCountInString(said.Text)
	}
	return fmt.Sprintf("ask a language model with %d characters", chars)
}

// question checks the arguments against what was granted.
func (m model) question(c gate.Request, a completeArgs) (Question, error) {
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
		return Question{}, gate.Errorf(gate.Quota, "The messages have about %d tokens, and a question and its answer may have %d.", asked, left+asked)
	}
	if a.MaxTokens > 0 {
		left = min(left, a.MaxTokens)
	}
	return Question{Model: name, Messages: a.Messages, MaxOutputTokens: int(left)}, nil
}

func (m model) complete(ctx context.Context, c gate.Request, a completeArgs) (any, error) {
	q, err := m.question(c, a)
	if err != nil {
		return nil, err
	}
	params := c.Right.Params.(*capability.ModelParams) // question has looked
	most := tokensOf(q.Messages) + int64(q.MaxOutputTokens)
	turn := c.Plugin + "\x00" + c.User + "\x00" + c.Run
	limit := orDefault(params.TokensPerTurn, DefaultTokensPerTurn)
	if !m.spent.take(turn, most, limit) {
		return nil, gate.Errorf(gate.Quota, "This plugin may use %d tokens of a model in one answer, and not enough are left.", limit)
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
	return completeResult{Text: answer.Text, Model: answer.Model, Truncated: answer.Truncated, Tokens: used}, nil
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

// maxTurns is how many answers a ledger remembers.
const maxTurns = 1024

// ledger counts what was used in each of the last answers.
type ledger struct {
	mu    sync.Mutex // guards what follows
	spent map[string]int64
	// order has the keys of spent, oldest first.
	order []string
}

// take adds n for a key unless that passes limit.
func (l *ledger) take(key string, n, limit int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > limit-l.spent[key] {
		return false
	}
	if _, known := l.spent[key]; !known {
		if len(l.order) == maxTurns {
			delete(l.spent, l.order[0])
			l.order = l.order[1:]
		}
		if l.spent == nil {
			l.spent = map[string]int64{}
		}
		l.order = append(l.order, key)
	}
	l.spent[key] += n
	return true
}

// giveBack takes n off again; a negative n adds what was used beyond the
// estimate.
func (l *ledger) giveBack(key string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.spent[key]; known {
		l.spent[key] -= n
	}
}
