// Package window fits a conversation into a model's context window. The whole
// history comes in, the messages to send go out, with the oldest exchanges left
// out where they do not fit. It knows messages and budgets, and nothing of runs,
// packets or storage.
package window

import (
	"errors"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// ErrTooLong is returned when the system message, the tools and the latest
// exchange alone exceed the window.
var ErrTooLong = errors.New("window: the latest message does not fit the context window")

// replyShare is the part of the window that is kept for the answer: a quarter.
const replyShare = 4

// Fit returns the messages to send: the system message, then as many whole
// exchanges of history as fit, always with the latest one. An exchange is a user
// message and all that followed it up to the next, so a tool result is never
// sent without its call. contextTokens is the size of the window, 0 for one that
// is not known and then not limited. Images count where the model sees them. dropped counts the messages left out.
func Fit(system string, history []llm.Message, tools []llm.ToolDef, contextTokens int, sees bool) (messages []llm.Message, dropped int, err error) {
	from := 0
	if contextTokens > 0 {
		budget := contextTokens - contextTokens/replyShare - Tokens(system) - toolTokens(tools)
		if from, err = firstThatFits(history, budget, sees); err != nil {
			return nil, 0, err
		}
	}
	messages = make([]llm.Message, 0, len(history)-from+1)
	if system != "" {
		messages = append(messages, llm.Message{Role: llm.RoleSystem, Text: system})
	}
	return append(messages, history[from:]...), from, nil
}

// firstThatFits walks back over whole exchanges.
func firstThatFits(history []llm.Message, budget int, sees bool) (int, error) {
	from, used := len(history), 0
	for i := len(history) - 1; i >= 0; i-- {
		used += messageTokens(history[i], sees)
		if used > budget {
			break
		}
		if history[i].Role == llm.RoleUser {
			from = i
		}
	}
	if from == len(history) && len(history) > 0 {
		return 0, ErrTooLong
	}
	return from, nil
}

func messageTokens(m llm.Message, sees bool) int {
	const frame = 4 // role and separators
	n := frame + Tokens(m.Content())
	if sees && m.HasImages() {
		_, images := m.Seen()
		n += len(images) * llm.ImageTokens
	}
	for _, c := range m.ToolCalls {
		n += frame + Tokens(c.Name) + Tokens(c.Arguments)
	}
	return n
}

func toolTokens(tools []llm.ToolDef) int {
	n := 0
	for _, t := range tools {
		n += Tokens(t.Name) + Tokens(t.Description) + Tokens(string(t.Parameters))
	}
	return n
}

// Tokens estimates how many tokens a text takes, on the high side, as llm.Tokens
// does.
func Tokens(text string) int { return llm.Tokens(text) }
