package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// thinking is how a model is told to think.
type thinking int

const (
	// thinkUnknown: the endpoint has not said.
	thinkUnknown thinking = iota
	// thinkNever: it does not.
	thinkNever
	// thinkAdaptive: it decides itself how much.
	thinkAdaptive
	// thinkBudget: it is given a number of tokens.
	thinkBudget
)

// facts are what is known of the model behind the endpoint. The zero value is
// nothing.
type facts struct {
	// asked tells that the endpoint was asked, whatever it said.
	asked bool
	// window and maxOutput are in tokens, 0 where unknown.
	window, maxOutput int
	vision            bool
	thinking          thinking
	// mayNot tells that thinking can be turned off.
	mayNot bool
	// noCache and noImages: the endpoint refuses cache marks, or images.
	noCache, noImages bool
}

// known is what the endpoint says of the model and what it showed since.
func (m *Model) known() facts {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.facts.but(refused(m.refused.Load()))
}

func (m *Model) change(change func(*facts)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.facts)
}

// Forget implements llm.Forgetter.
func (m *Model) Forget() {
	m.change(func(f *facts) { *f = facts{} })
	m.learning.Lock()
	defer m.learning.Unlock()
	m.refused.Store(0)
}

// maxFactsBytes bounds the endpoint's description of a model.
const maxFactsBytes = 1 << 20

// Prepare implements llm.Preparer: it asks the endpoint once what the model is
// able to. An endpoint that does not say is not asked again.
func (m *Model) Prepare(ctx context.Context) error {
	if m.known().asked {
		return nil
	}
	if err := m.asking.Enter(ctx); err != nil {
		return err
	}
	defer m.asking.Leave()
	if m.known().asked {
		return nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.cfg.BaseURL+"/v1/models/"+url.PathEscape(m.cfg.Model),
		nil)
	if err != nil {
		return fmt.Errorf("ask what the model is able to: %w", err)
	}
	r.Header.Set("User-Agent", "bulkhead")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Anthropic-Version", apiVersion)
	if !m.cfg.APIKey.IsZero() {
		r.Header.Set("X-Api-Key", m.cfg.APIKey.Reveal())
	}
	data, err := m.end.Fetch(ctx, r, maxFactsBytes)
	var failed *llm.Error
	if err != nil && (!errors.As(err, &failed) || failed.Status == 0 || failed.Retryable) {
		return err // it may say later
	}
	var info sdk.ModelInfo
	if err != nil || json.Unmarshal(data, &info) != nil {
		info = sdk.ModelInfo{}
	}
	m.change(func(f *facts) { f.take(info) })
	return nil
}

// take takes in what the endpoint says.
func (f *facts) take(info sdk.ModelInfo) {
	f.asked = true
	f.window = tokens(info.MaxInputTokens)
	f.maxOutput = tokens(info.MaxTokens)
	f.vision = info.Capabilities.ImageInput.Supported || !info.JSON.Capabilities.Valid()
	if !info.Capabilities.JSON.Thinking.Valid() {
		return
	}
	switch t := info.Capabilities.Thinking; {
	case t.Types.Adaptive.Supported:
		f.thinking = thinkAdaptive
	case t.Supported:
		f.thinking = thinkBudget
	default:
		f.thinking = thinkNever
	}
	f.mayNot = info.Capabilities.Thinking.Types.Disabled.Supported
}

// tokens takes a number that an endpoint gave, 0 for one that cannot be.
func tokens(n int64) int {
	if n < 0 || n > 1<<31-1 {
		return 0
	}
	return int(n)
}

// thinks decides how the model is told to think about a request.
func (m *Model) thinks(f facts, req llm.Request) thinking {
	how := f.thinking
	switch m.cfg.Able.Reasoning {
	case llm.No:
		return thinkNever
	case llm.Yes:
		if how == thinkUnknown {
			how = thinkAdaptive
		}
	default:
		if how != thinkAdaptive {
			return thinkNever
		}
	}
	// With a budget, the answer under way must begin with signed thinking.
	if how == thinkBudget && !m.thoughtful(req.Messages) {
		return thinkNever
	}
	return how
}

// thoughtful tells whether every step with calls since the last question came with
// the model's own blocks.
func (m *Model) thoughtful(messages []llm.Message) bool {
	for i := len(messages) - 1; i >= 0 && messages[i].Role != llm.RoleUser; i-- {
		msg := messages[i]
		if msg.Role == llm.RoleAssistant && len(msg.ToolCalls) > 0 && !msg.Native.Of(Provider, m.cfg.Model) {
			return false
		}
	}
	return true
}
