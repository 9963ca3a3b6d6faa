package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/answer"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// completer answers what plugins ask of the models in the catalog, which is
// there by the time that a tool is called.
type completer struct{ models func() *catalog.Catalog }

// NewCompleter answers what plugins ask of the models that a configuration names, without a
// host. The caller closes it.
func NewCompleter(c config.Config) (models hostfunc.Models, close func() error, err error) {
	named, err := catalog.New(catalog.Config{
		Models: c.Models, DefaultModel: c.DefaultModel, Client: egress.ModelClient,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("set up the models: %w", err)
	}
	return completer{func() *catalog.Catalog { return named }}, named.Close, nil
}

var _ hostfunc.Models = completer{}

// maxAnswerBytes is where an answer is cut off, whatever its tokens.
const maxAnswerBytes = 256 << 10

// Complete implements hostfunc.Models.
func (c completer) Complete(ctx context.Context, q hostfunc.Question) (hostfunc.Answer, error) {
	name := q.Model
	if name == "" {
		name = c.models().Default()
	}
	m, err := c.models().Get(name)
	if err != nil {
		return hostfunc.Answer{}, gate.Errorf(gate.NotFound, "There is no model of that name.")
	}
	if m.Info().Provider == string(provider.Extractive) {
		return hostfunc.Answer{}, gate.Errorf(gate.Unavailable,
			"The built-in model follows no instructions. Another one must be chosen.")
	}
	request := llm.Request{Choice: llm.ChoiceNone, MaxOutputTokens: q.MaxOutputTokens}
	for _, said := range q.Messages {
		request.Messages = append(request.Messages, llm.Message{Role: llm.Role(said.Role), Text: said.Text})
	}
	said, err := answer.Read(ctx, m, request, maxAnswerBytes)
	if err != nil {
		return hostfunc.Answer{}, modelError(ctx, err)
	}
	return hostfunc.Answer{Model: name, Text: said.Text, Truncated: said.Truncated,
		InputTokens: said.Usage.InputTokens, OutputTokens: said.Usage.OutputTokens}, nil
}

// modelError tells the guest the sentence that a person would read.
func modelError(ctx context.Context, err error) error {
	var told *llm.Error
	if ctx.Err() != nil || !errors.As(err, &told) {
		return err
	}
	return gate.Errorf(gate.Failed, "%s", told.Message)
}

// Local implements hostfunc.Models.
func (c completer) Local(names []string) bool { return c.models().Local(names) }
