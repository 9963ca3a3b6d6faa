package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// API is which of OpenAI's two interfaces a model is asked through.
type API string

// The interfaces. With APIAuto it is found out: OpenAI's own endpoint is asked for
// responses and others for chat completions, and the other of the two is tried where
// an endpoint refuses the one.
const (
	APIAuto      API = "auto"
	APIChat      API = "chat"
	APIResponses API = provider.APIResponses
)

// Tuning are the settings of a model that are found out or have a good default
// where they are left out.
type Tuning struct {
	// MaxOutputTokens bounds one answer with its reasoning, 0 for the provider's
	// default.
	MaxOutputTokens int `yaml:"max_output_tokens" json:"max_output_tokens,omitempty"`
	// Reasoning tells whether the model is asked to reason before it answers: auto
	// leaves it to what the provider says of the model.
	Reasoning provider.Switch `yaml:"reasoning" json:"reasoning,omitempty"`
	// Vision tells whether the model sees images; a text stands for each where not.
	Vision provider.Switch `yaml:"vision" json:"vision,omitempty"`
	// ParallelTools tells whether the model may call several tools at once.
	ParallelTools provider.Switch `yaml:"parallel_tools" json:"parallel_tools,omitempty"`
	// NativeSearch gives the model the web search of its provider (anthropic, openai
	// with responses). It runs there, not in the sandbox. Default false.
	NativeSearch bool `yaml:"native_search" json:"native_search,omitempty"`
	// API is which interface of openai is used. Default auto.
	API API `yaml:"api" json:"api,omitempty"`
	// KeepAlive is how long ollama keeps the model in memory after an answer, such as
	// 30m, or -1 for ever. Default the server's own.
	KeepAlive string `yaml:"keep_alive" json:"keep_alive,omitempty"`
	// ConnectTimeout, FirstTokenTimeout and IdleTimeout are how long the endpoint may
	// take to connect, to send its first byte (a local server loads the model in it)
	// and to stay silent in an answer, such as 10s or 3m. Default 10s, 3m and 1m.
	ConnectTimeout    string `yaml:"connect_timeout" json:"connect_timeout,omitempty"`
	FirstTokenTimeout string `yaml:"first_token_timeout" json:"first_token_timeout,omitempty"`
	IdleTimeout       string `yaml:"idle_timeout" json:"idle_timeout,omitempty"`
}

// FieldMistake is what is wrong with one setting of a Tuning: the rest of a
// sentence that begins with its name.
type FieldMistake struct{ Field, Says string }

// maxTimeout bounds a timeout; a day of silence is no answer.
const maxTimeout = 24 * time.Hour

var keepAlive = regexp.MustCompile(`^(-1|\d{1,9}|(\d{1,9}(ms|s|m|h))+)$`)

// Check returns what is wrong with the settings for a provider.
func (t Tuning) Check(p provider.Name) []FieldMistake {
	var out []FieldMistake
	add := func(field, says string, args ...any) {
		out = append(out, FieldMistake{field, fmt.Sprintf(says, args...)})
	}
	if t.MaxOutputTokens < 0 {
		add("max_output_tokens", "must be a positive number")
	}
	for _, s := range []struct {
		field string
		value provider.Switch
	}{{"reasoning", t.Reasoning}, {"vision", t.Vision}, {"parallel_tools", t.ParallelTools}} {
		if !slices.Contains([]provider.Switch{"", provider.Auto, provider.Yes, provider.No}, s.value) {
			add(s.field, "must be one of auto, yes, no")
		}
	}
	if !slices.Contains([]API{"", APIAuto, APIChat, APIResponses}, t.API) {
		add("api", "must be one of auto, chat, responses")
	}
	for _, own := range []struct {
		setting string
		set     bool
	}{
		{provider.SettingAPI, t.API == APIChat || t.API == APIResponses},
		{provider.SettingNativeSearch, t.NativeSearch},
		{provider.SettingKeepAlive, t.KeepAlive != ""},
	} {
		if own.set && !provider.Takes(p, own.setting, string(t.API)) {
			add(own.setting, "needs the provider %s", provider.Takers(own.setting))
		}
	}
	if provider.Takes(p, provider.SettingKeepAlive, "") && t.KeepAlive != "" && !keepAlive.MatchString(t.KeepAlive) {
		add("keep_alive", "must look like 30m, or be -1 for ever")
	}
	for _, d := range t.timeouts() {
		if v, err := time.ParseDuration(d.value); d.value != "" && (err != nil || v <= 0 || v > maxTimeout) {
			add(d.field, "must look like 10s or 3m, at most 24h")
		}
	}
	return out
}

type timeout struct{ field, value string }

func (t Tuning) timeouts() []timeout {
	return []timeout{{"connect_timeout", t.ConnectTimeout}, {"first_token_timeout", t.FirstTokenTimeout},
		{"idle_timeout", t.IdleTimeout}}
}

// Timeouts returns the three timeouts, 0 for each that is left out.
func (t Tuning) Timeouts() (connect, firstToken, idle time.Duration) {
	var out [3]time.Duration
	for i, d := range t.timeouts() {
		out[i], _ = time.ParseDuration(d.value) // Check was asked; what is left out is 0
	}
	return out[0], out[1], out[2]
}

// Normal returns t with what people write around values taken off.
func (t Tuning) Normal() Tuning {
	for _, text := range []*string{&t.KeepAlive, &t.ConnectTimeout, &t.FirstTokenTimeout, &t.IdleTimeout,
		(*string)(&t.Reasoning), (*string)(&t.Vision), (*string)(&t.ParallelTools), (*string)(&t.API)} {
		*text = strings.TrimSpace(*text)
	}
	return t
}
