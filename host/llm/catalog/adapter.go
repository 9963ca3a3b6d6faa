package catalog

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/anthropic"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
	"github.com/bulkhead-host/bulkhead/host/llm/ollama"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// kind is how the models of one provider are made and how its servers are asked what
// they have.
type kind struct {
	// make makes the adapter of m, which is reached at base.
	make func(m config.Model, base string, common common) (llm.Model, error)
	// base makes a server's address of what was configured; nil leaves it as it is.
	base func(configured string) string
	// listedBelow is what stands between a server's address and /models where the
	// address does not end in it.
	listedBelow string
	// sign adds a key to the question what a server has; nil for a bearer token.
	sign func(h http.Header, key llm.Key)
}

// common are the settings that every adapter takes in the same form.
type common struct {
	client   *http.Client
	timeouts endpoint.Timeouts
	able     llm.Abilities
	remember llm.Memory
}

// kinds has an entry for each provider of which a model can be added.
var kinds = map[provider.Name]kind{
	provider.OpenAI:    {make: openOpenAI},
	provider.Ollama:    {make: openOllama, base: ollama.Base, listedBelow: "/v1"},
	provider.Anthropic: {make: openAnthropic, listedBelow: "/v1", sign: signAnthropic},
}

// adapter makes the adapter of one described model.
func (c *Catalog) adapter(m config.Model) (llm.Model, error) {
	k, ok := kinds[m.Provider]
	if !ok {
		return nil, fmt.Errorf("there is no provider %q; it must be %s", m.Provider, provider.AddableNames())
	}
	var timeouts endpoint.Timeouts
	timeouts.Connect, timeouts.FirstToken, timeouts.Idle = m.Timeouts()
	base := baseOf(m)
	return k.make(m, base, common{
		client: c.client(base), timeouts: timeouts, remember: c.memory(learnedKey(m)),
		able: llm.Abilities{Tools: llm.Switch(m.NativeTools), Parallel: m.ParallelTools, Reasoning: m.Reasoning,
			Vision: m.Vision},
	})
}

func openOpenAI(m config.Model, base string, common common) (llm.Model, error) {
	return openai.New(openai.Config{
		Name: m.Name, Provider: string(m.Provider), BaseURL: base, Model: m.Model, APIKey: m.APIKey,
		ContextTokens: m.ContextTokens, MaxOutputTokens: m.MaxOutputTokens, API: openai.API(m.API),
		NativeSearch: m.NativeSearch, HTTPClient: common.client, Timeouts: common.timeouts, Able: common.able,
		Remember: common.remember,
	})
}

func openOllama(m config.Model, base string, common common) (llm.Model, error) {
	return ollama.New(ollama.Config{
		Name: m.Name, BaseURL: base, Model: m.Model, APIKey: m.APIKey,
		ContextTokens: m.ContextTokens, MaxOutputTokens: m.MaxOutputTokens, KeepAlive: m.KeepAlive,
		HTTPClient: common.client, Timeouts: common.timeouts, Able: common.able, Remember: common.remember,
	})
}

func openAnthropic(m config.Model, base string, common common) (llm.Model, error) {
	return anthropic.New(anthropic.Config{
		Name: m.Name, BaseURL: base, Model: m.Model, APIKey: m.APIKey,
		ContextTokens: m.ContextTokens, MaxOutputTokens: m.MaxOutputTokens, NativeSearch: m.NativeSearch,
		HTTPClient: common.client, Timeouts: common.timeouts, Able: common.able, Remember: common.remember,
	})
}

func signAnthropic(h http.Header, key llm.Key) {
	h.Set("Anthropic-Version", "2023-06-01")
	h.Set("X-Api-Key", key.Reveal())
}

// baseOf is where a model is reached.
func baseOf(m config.Model) string {
	base := cmp.Or(m.BaseURL, provider.BaseURL(m.Provider))
	if k := kinds[m.Provider]; k.base != nil {
		return k.base(base)
	}
	return base
}

// learnedPrefix begins the keys of what endpoints turned out to refuse.
const learnedPrefix = "learned/"

// learnedKey is where it stands what one endpoint turned out to refuse of one model.
// A gateway has several endpoints at one address, so the path counts, and may speak
// several providers' formats at one path, whose flags mean different things. OpenAI's
// came first and stand without its name.
func learnedKey(m config.Model) string {
	spoken := ""
	if m.Provider != provider.OpenAI {
		spoken = string(m.Provider) + " "
	}
	return learnedPrefix + spoken + strings.TrimRight(baseOf(m), "/") + " " + m.Model
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
