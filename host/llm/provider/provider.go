// Package provider is what is known of the providers of models before any is
// asked, and the types of what a person sets of a model.
//
// The configuration, the catalogue, the page, the command line and the import
// rules read it; an adapter of a provider has what it learns by asking. It
// imports nothing of this repository, so that whoever reads settings need not
// know how a model is asked.
package provider

//go:generate go run ./genproviders ../../../web/src/lib/providers.json

import (
	"slices"
	"strings"
)

// Name is a provider as the configuration names it.
type Name string

// The providers. Each has its line in All.
const (
	OpenAI     Name = "openai"
	Ollama     Name = "ollama"
	Anthropic  Name = "anthropic"
	Extractive Name = "extractive"
)

// The settings that only some providers take.
const (
	SettingAPI          = "api"
	SettingKeepAlive    = "keep_alive"
	SettingNativeSearch = "native_search"
)

// APIResponses is the value of SettingAPI that the search of OpenAI needs.
const APIResponses = "responses"

// Provider is what is fixed about one.
type Provider struct {
	Name Name `json:"name"`
	// Title says to a person what servers it stands for.
	Title string `json:"title"`
	// BaseURL is its usual address, "" where each server has its own.
	BaseURL string `json:"base_url,omitempty"`
	// ExampleURL and ExampleModel show how its addresses and names of models look.
	ExampleURL   string `json:"example_url"`
	ExampleModel string `json:"example_model"`
	// WantsKey tells that nobody is answered at its usual address without a key.
	WantsKey bool `json:"wants_key"`
	// Settings are those that only some providers take and that it does.
	Settings []Setting `json:"settings"`
	// SDK is the import path that its adapter, host/llm/NAME, alone may know; "" for
	// none.
	SDK string `json:"-"`
	// Builtin tells that it comes with the host: it has no server and no model to name,
	// and nobody adds it.
	Builtin bool `json:"-"`
}

// Setting is one that only some providers take.
type Setting struct {
	Name string `json:"name"`
	// API is the value that the setting api must have for it; "" for any.
	API string `json:"api,omitempty"`
}

// All are the providers, in the order in which they are shown. It must not be changed
// at run time.
var All = []Provider{
	{Name: OpenAI, Title: "Chat completions: llama.cpp, vLLM, OpenAI and others",
		ExampleURL:   "http://127.0.0.1:8080/v1",
		ExampleModel: "qwen3-8b", Settings: []Setting{{Name: SettingAPI},
			{Name: SettingNativeSearch, API: APIResponses}},
		SDK: "github.com/openai"},
	{Name: Ollama, Title: "Ollama", BaseURL: "http://127.0.0.1:11434", ExampleURL: "http://127.0.0.1:11434",
		ExampleModel: "qwen3:8b", Settings: []Setting{{Name: SettingKeepAlive}}},
	{Name: Anthropic, Title: "Anthropic", BaseURL: "https://api.anthropic.com", ExampleURL: "https://api.anthropic.com",
		ExampleModel: "claude-sonnet-4-5", WantsKey: true, Settings: []Setting{{Name: SettingNativeSearch}},
		SDK: "github.com/anthropics"},
	{Name: Extractive, Title: "Built in: quotes documents, writes nothing itself", Builtin: true},
}

// Get returns the provider of that name, false where there is none.
func Get(name Name) (Provider, bool) {
	i := slices.IndexFunc(All, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return Provider{}, false
	}
	return All[i], true
}

// BaseURL returns the usual address of a provider, "" where it has none.
func BaseURL(name Name) string {
	p, _ := Get(name) // the zero Provider has none either
	return p.BaseURL
}

// Names returns the names of all providers.
func Names() []string { return namesOf(All) }

// Addable returns the providers of which a model can be added.
func Addable() []Provider {
	return slices.DeleteFunc(slices.Clone(All), func(p Provider) bool { return p.Builtin })
}

// AddableNames lists their names for a sentence: "openai, ollama or anthropic".
func AddableNames() string { return list(namesOf(Addable())) }

// Takes tells whether a provider takes the setting, asked through api ("" for what is
// found out).
func Takes(name Name, setting, api string) bool {
	p, _ := Get(name) // the zero Provider takes none
	return slices.ContainsFunc(p.Settings, func(s Setting) bool {
		return s.Name == setting && (s.API == "" || s.API == api)
	})
}

// Takers lists who takes the setting for a sentence: "openai with api: responses or
// anthropic".
func Takers(setting string) string {
	var takers []string
	for _, p := range All {
		for _, s := range p.Settings {
			if s.Name != setting {
				continue
			}
			taker := string(p.Name)
			if s.API != "" {
				taker += " with api: " + s.API
			}
			takers = append(takers, taker)
		}
	}
	return list(takers)
}

func namesOf(providers []Provider) []string {
	out := make([]string, 0, len(providers))
	for _, p := range providers {
		out = append(out, string(p.Name))
	}
	return out
}

// list joins words as a sentence does.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
