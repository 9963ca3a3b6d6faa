package app

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/salvage"
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
	if m.Info().Provider == string(config.ProviderExtractive) {
		return hostfunc.Answer{}, gate.Errorf(gate.Unavailable,
			"The built-in model follows no instructions. Another one must be chosen.")
	}
	request := llm.Request{Choice: llm.ChoiceNone, MaxOutputTokens: q.MaxOutputTokens}
	for _, said := range q.Messages {
		request.Messages = append(request.Messages, llm.Message{Role: llm.Role(said.Role), Text: said.Text})
	}
	answer, err := read(ctx, m, request)
	answer.Model = name
	return answer, err
}

// read takes the answer's text; reasoning, and markup of calls that nobody
// offered, are left out.
func read(ctx context.Context, m llm.Model, request llm.Request) (hostfunc.Answer, error) {
	var answer hostfunc.Answer
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
			return hostfunc.Answer{}, modelError(ctx, err)
		}
		switch e := event.(type) {
		case llm.Text:
			take(parser.Write(e.Delta))
		case llm.Refusal:
			take(parser.Write(e.Delta))
		case llm.Usage:
			answer.InputTokens, answer.OutputTokens = e.InputTokens, e.OutputTokens
		case llm.Finish:
			answer.Truncated = e.Reason == llm.FinishLength
		}
		if text.Len() > maxAnswerBytes {
			answer.Truncated = true
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return hostfunc.Answer{}, err
	}
	take(parser.Close())
	answer.Text = text.String()
	return answer, nil
}

// modelError tells the guest the sentence that a person would read.
func modelError(ctx context.Context, err error) error {
	var told *llm.Error
	if ctx.Err() != nil || !errors.As(err, &told) {
		return err
	}
	return gate.Errorf(gate.Failed, "%s", told.Message)
}

// Local implements hostfunc.Models: the built-in model and what a loopback address
// serves run on this machine.
func (c completer) Local(names []string) bool {
	entries, err := c.models().Entries(identity.ForHost("see which models run on this machine"))
	if err != nil {
		return false
	}
	for _, e := range entries {
		if (names == nil || slices.Contains(names, e.Name)) && !isLocal(e) {
			return false
		}
	}
	return true
}

func isLocal(e catalog.Entry) bool {
	if e.Origin == catalog.Builtin || e.Origin == catalog.Found {
		return true
	}
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(u.Hostname())
	return err == nil && address.Unmap().IsLoopback()
}
