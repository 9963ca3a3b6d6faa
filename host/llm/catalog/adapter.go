package catalog

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/anthropic"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
	"github.com/bulkhead-host/bulkhead/host/llm/ollama"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
)

// adapter makes the adapter of one described model.
func (c *Catalog) adapter(m config.Model) (llm.Model, error) {
	var timeouts endpoint.Timeouts
	timeouts.Connect, timeouts.FirstToken, timeouts.Idle = m.Timeouts()
	able := llm.Abilities{Tools: llm.Switch(m.NativeTools), Parallel: m.ParallelTools, Reasoning: m.Reasoning, Vision: m.Vision}
	base := baseOf(m)
	switch m.Provider {
	case config.ProviderOpenAI:
		return openai.New(openai.Config{
			Name: m.Name, Provider: string(m.Provider), BaseURL: base, Model: m.Model, APIKey: m.APIKey,
			ContextTokens: m.ContextTokens, MaxOutputTokens: m.MaxOutputTokens, HTTPClient: c.client(base), Timeouts: timeouts, Able: able,
			API: openai.API(m.API), NativeSearch: m.NativeSearch, Remember: c.memory(learnedKey(m)),
		})
	case config.ProviderOllama:
		return ollama.New(ollama.Config{
			Name: m.Name, BaseURL: base, Model: m.Model, APIKey: m.APIKey, ContextTokens: m.ContextTokens,
			MaxOutputTokens: m.MaxOutputTokens, KeepAlive: m.KeepAlive, HTTPClient: c.client(base), Timeouts: timeouts, Able: able,
			Remember: c.memory(learnedKey(m)),
		})
	case config.ProviderAnthropic:
		return anthropic.New(anthropic.Config{
			Name: m.Name, BaseURL: base, Model: m.Model, APIKey: m.APIKey, ContextTokens: m.ContextTokens,
			MaxOutputTokens: m.MaxOutputTokens, HTTPClient: c.client(base), Timeouts: timeouts, Able: able, NativeSearch: m.NativeSearch,
			Remember: c.memory(learnedKey(m)),
		})
	}
	return nil, fmt.Errorf("there is no provider %q; there are openai, anthropic and ollama", m.Provider)
}

// baseOf is where a model is reached.
func baseOf(m config.Model) string {
	switch m.Provider {
	case config.ProviderOllama:
		return ollama.Base(m.BaseURL)
	case config.ProviderAnthropic:
		return cmp.Or(m.BaseURL, anthropic.DefaultBaseURL)
	}
	return m.BaseURL
}

// learnedPrefix begins the keys of what endpoints turned out to refuse.
const learnedPrefix = "learned/"

// learnedKey is where it stands what one endpoint turned out to refuse of one model.
// A gateway has several endpoints at one address, so the path counts, and may speak
// several providers' formats at one path, whose flags mean different things. OpenAI's
// came first and stand without its name.
func learnedKey(m config.Model) string {
	provider := ""
	if m.Provider != config.ProviderOpenAI {
		provider = string(m.Provider) + " "
	}
	return learnedPrefix + provider + strings.TrimRight(baseOf(m), "/") + " " + m.Model
}

// memory is what an adapter learned of one model, on disk where there is Storage.
type memory struct {
	flags atomic.Uint32
	keep  func(flags uint32)
}

// Load implements llm.Memory.
func (m *memory) Load() uint32 { return m.flags.Load() }

// Store implements llm.Memory.
func (m *memory) Store(flags uint32) {
	m.flags.Store(flags)
	m.keep(flags)
}

// memory returns what was learned of the model with that key.
func (c *Catalog) memory(key string) *memory {
	m := &memory{keep: func(uint32) {}}
	if c.cfg.Storage == nil {
		return m
	}
	m.keep = func(flags uint32) {
		err := c.cfg.Storage.Update(func(tx Tx) error {
			return tx.Put(key, binary.BigEndian.AppendUint32(nil, flags))
		})
		if err != nil { // it is learned anew after the next start
			c.cfg.Logger.Warn("what an endpoint refuses could not be kept", "reason", err.Error())
		}
	}
	err := c.cfg.Storage.View(func(tx Tx) error {
		if data, ok := tx.Get(key); ok && len(data) == 4 {
			m.flags.Store(binary.BigEndian.Uint32(data))
		}
		return nil
	})
	if err != nil {
		c.cfg.Logger.Warn("what an endpoint refuses could not be read", "reason", err.Error())
	}
	return m
}
