// Package config reads the one configuration file of the host.
//
// YAML bytes, the environment and a source of secrets come in; a Config, or an
// *Error with a sentence for each mistake, goes out. Decoding is strict: a
// setting that does not exist is a mistake. The struct below is the reference of
// the file.
//
// It does not know what the settings are used for, and it opens no connection.
package config

import (
	"slices"

	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// DefaultListen is the address that the host serves on unless told otherwise.
const DefaultListen = "127.0.0.1:8420"

// Config is the configuration of a host. The zero value is not useful: start from
// Default, Parse or Load.
type Config struct {
	// Listen is the address of the page and the API, host:port. An empty host
	// means every interface. Default 127.0.0.1:8420.
	Listen string `yaml:"listen"`
	// AllowedOrigins are origins besides our own that may open the WebSocket and
	// use the API from a browser, each scheme://host[:port]. Default none.
	AllowedOrigins []string `yaml:"allowed_origins"`
	// Models are what a person can pick, in this order. Default none; the built-in
	// model is always there.
	Models []Model `yaml:"models"`
	// DefaultModel is the name of the model of a new conversation. Default the
	// first model of all.
	DefaultModel string `yaml:"default_model"`
	// Egress is how far plugins may reach. Default public.
	Egress Egress `yaml:"egress"`
	// LocalServices are hosts with ports, such as 127.0.0.1:9200 or wiki.lan:443,
	// that plugins may reach although their addresses are loopback, link-local or
	// private; the grant of the plugin must have them too. Each is named here on
	// purpose. With egress none they are closed as well. Default none.
	LocalServices []string `yaml:"local_services"`
	// Screen are the rules that what people write is held to, in this order. Default
	// none.
	Screen []ScreenRule `yaml:"screen"`
	// Probe tells whether the host looks for a model server on this machine when
	// it starts. Default true.
	Probe bool `yaml:"probe"`
	// Log is the form of what the host writes to stderr, text or json, with a line
	// for each request and run. Default warnings only, as text.
	Log Log `yaml:"log"`
}

// Log is the form of the log.
type Log string

// The forms of the log. LogQuiet is the default.
const (
	LogQuiet Log = ""
	LogText  Log = "text"
	LogJSON  Log = "json"
)

// Model is one configured model.
type Model struct {
	// Name is what a person picks, unique; required.
	Name string `yaml:"name"`
	// Provider says how to talk to the endpoint; required.
	Provider provider.Name `yaml:"provider"`
	// BaseURL is the endpoint's address, such as http://127.0.0.1:11434/v1.
	// Required for openai; for ollama and anthropic the default is their usual
	// address.
	BaseURL string `yaml:"base_url"`
	// Model is the endpoint's own name of the model; required but for extractive.
	Model string `yaml:"model"`
	// APIKey is the credential: ${env:NAME}, ${secret:NAME} or the text itself.
	APIKey provider.Key `yaml:"api_key"`
	// ContextTokens is the size of the model's window in tokens, 0 for what the
	// provider says. Ollama is told to use it, as far as the model has it.
	ContextTokens int `yaml:"context_tokens"`
	// NativeTools tells whether the model's own tool calling is used. Default auto.
	NativeTools NativeTools `yaml:"native_tools"`
	// Tuning are the settings that are seldom needed.
	Tuning `yaml:",inline"`
}

// Egress is how far plugins may reach.
type Egress string

// The levels of egress.
const (
	EgressNone    Egress = "none"
	EgressPublic  Egress = "public"
	EgressPrivate Egress = "private"
)

// NativeTools tells whether a model's own tool calling is used.
type NativeTools string

// The ways of tool calling. With no, tools are described in the prompt and calls
// are recovered from the text.
const (
	NativeToolsAuto NativeTools = "auto"
	NativeToolsYes  NativeTools = "yes"
	NativeToolsNo   NativeTools = "no"
)

// Default returns the configuration of a host without a file.
func Default() Config {
	return Config{Listen: DefaultListen, Egress: EgressPublic, Probe: true}
}

// Override changes one setting, as a flag of the command line does.
type Override func(*Config)

// With returns c with the overrides applied, checked as a whole. The error is an
// *Error without line numbers. c stays as it was.
func (c Config) With(overrides ...Override) (Config, error) {
	c.AllowedOrigins = slices.Clone(c.AllowedOrigins)
	c.Models = slices.Clone(c.Models)
	c.LocalServices = slices.Clone(c.LocalServices)
	c.Screen = slices.Clone(c.Screen)
	for _, o := range overrides {
		o(&c)
	}
	if mistakes := check(&c, nil); len(mistakes) > 0 {
		return Config{}, &Error{Mistakes: mistakes}
	}
	return c, nil
}
