// Package answer reads one answer of a model whole, for those who show nothing
// while it comes: a plugin that asks a model.
//
// A model and a request come in; the text goes out, without reasoning and
// without markup of calls that nobody offered. It must not know who asks.
package answer

import (
	"context"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// Answer is what a model said.
type Answer struct {
	Text string
	// Truncated tells that the model, or the limit, cut it off.
	Truncated bool
	Usage     llm.Usage
}

// Read asks m and returns its answer, cut off once it has more than most bytes. The
// error is that of ctx or the model's, an *llm.Error.
func Read(ctx context.Context, m llm.Model, request llm.Request, most int) (Answer, error) {
	var answer Answer
	var text strings.Builder
	parser := salvage.New(salvage.Options{None: true})
	take := func(events []salvage.Event) {
		for _, e := range events {
			if said, ok := e.(salvage.Text); ok {
				text.WriteString(said.Delta)
			}
		}
	}
	for event, err := range m.Stream(ctx, request) {
		if err != nil {
			return Answer{}, err
		}
		switch e := event.(type) {
		case llm.Text:
			take(parser.Write(e.Delta))
		case llm.Refusal:
			take(parser.Write(e.Delta))
		case llm.Usage:
			answer.Usage = e
		case llm.Finish:
			answer.Truncated = e.Reason == llm.FinishLength
		}
		if text.Len() > most {
			answer.Truncated = true
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	take(parser.Close())
	answer.Text = text.String()
	return answer, nil
}
