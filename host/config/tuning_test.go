package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

func TestSeldomSettingsAreRead(t *testing.T) {
	c, err := config.Parse("bulkhead.yaml", []byte(`
models:
  - name: claude
    provider: anthropic
    model: claude-sonnet-4-5
    api_key: sk-hidden
    max_output_tokens: 4000
    reasoning: yes
    vision: no
    parallel_tools: auto
    native_search: true
    connect_timeout: 5s
    first_token_timeout: 10m
  - name: local
    provider: ollama
    model: qwen3:8b
    keep_alive: -1
  - name: gpt
    provider: openai
    base_url: https://api.openai.com/v1
    model: gpt-5
    api: responses
    native_search: true
`), config.Resolver{})
	if err != nil {
		t.Fatal(err)
	}
	m := c.Models[0]
	if m.MaxOutputTokens != 4000 || m.Reasoning != provider.Yes || m.Vision != provider.No ||
		m.ParallelTools != provider.Auto || !m.NativeSearch {
		t.Errorf("%+v", m.Tuning)
	}
	if connect, first, idle := m.Timeouts(); connect != 5*time.Second || first != 10*time.Minute || idle != 0 {
		t.Errorf("timeouts %v, %v, %v", connect, first, idle)
	}
	if c.Models[1].KeepAlive != "-1" || c.Models[2].API != config.APIResponses {
		t.Errorf("%+v", c.Models)
	}
}

func TestMistakesInSeldomSettings(t *testing.T) {
	for _, tc := range []struct{ provider, line, says string }{
		{"ollama", "reasoning: often", "models[0].reasoning must be one of auto, yes, no"},
		{"ollama", "vision: 7", "models[0].vision must be one of auto, yes, no"},
		{"ollama", "max_output_tokens: -1", "models[0].max_output_tokens must be a positive number"},
		{"ollama", "max_output_tokens: many", "this must be a whole number"},
		{"ollama", "native_search: maybe", "this must be true or false"},
		{"ollama", "native_search: true", "models[0].native_search needs the provider openai with api: responses or " +
			"anthropic"},
		{"openai", "native_search: true", "openai with api: responses or anthropic"},
		{"ollama", "api: responses", "models[0].api needs the provider openai"},
		{"openai", "api: soap", "models[0].api must be one of auto, chat, responses"},
		{"openai", "keep_alive: 5m", "models[0].keep_alive needs the provider ollama"},
		{"ollama", "keep_alive: a while", "models[0].keep_alive must look like 30m"},
		{"ollama", "idle_timeout: 5", "models[0].idle_timeout must look like 10s or 3m"},
		{"ollama", "idle_timeout: 25h", "at most 24h"},
		{"ollama", "first_token: 5s", "there is no setting first_token here; the settings are name, provider, " +
			"base_url, model, api_key, context_tokens, native_tools, max_output_tokens, reasoning"},
	} {
		text := "models:\n  - name: m\n    model: x\n    base_url: http://h/v1\n    provider: " + tc.provider +
			"\n    " + tc.line + "\n"
		_, err := config.Parse("bulkhead.yaml", []byte(text), config.Resolver{})
		if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "line 6") {
			t.Errorf("%s: %v", tc.line, err)
		}
	}
}
