package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// vault is a source of secrets made of a map.
type vault map[string]string

var errVault = errors.New("the vault is locked")

func (v vault) Secret(name string) (string, bool, error) {
	if name == "LOCKED" {
		return "", false, errVault
	}
	text, ok := v[name]
	return text, ok, nil
}

var resolver = config.Resolver{
	Env: func(name string) (string, bool) {
		text, ok := map[string]string{"LOCAL_KEY": "key-from-env", "HOST": "127.0.0.1"}[name]
		return text, ok
	},
	Secrets: vault{"openai": "key-from-vault"},
}

const example = `
# bulkhead.yaml
listen: 127.0.0.1:8420
allowed_origins: [https://chat.example.org]
models:
  - name: local                 # what a person picks
    provider: openai            # openai | anthropic | ollama | extractive
    base_url: http://${env:HOST}:11434/v1
    model: qwen3:8b
    api_key: ${env:LOCAL_KEY}   # or ${secret:NAME}
    context_tokens: 32768
    native_tools: auto
  - {name: far, provider: openai, base_url: "https://api.example.org/v1", model: big, api_key: "${secret:openai}", native_tools: no}
  - {name: quotes, provider: extractive}
default_model: local
egress: private
local_services: ["127.0.0.1:9200", "wiki.lan:443"]
probe: false
log: json
`

func TestTheExampleOfTheManual(t *testing.T) {
	c, err := config.Parse("bulkhead.yaml", []byte(example), resolver)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:8420" || c.Log != config.LogJSON || c.Egress != config.EgressPrivate || c.Probe ||
		c.DefaultModel != "local" || len(c.Models) != 3 || len(c.LocalServices) != 2 {
		t.Errorf("%+v", c)
	}
	if m := c.Models[0]; m.BaseURL != "http://127.0.0.1:11434/v1" || m.APIKey.Reveal() != "key-from-env" ||
		m.ContextTokens != 32768 {
		t.Errorf("%+v", m)
	}
	if m := c.Models[1]; m.APIKey.Reveal() != "key-from-vault" || m.NativeTools != config.NativeToolsNo {
		t.Errorf("%+v", m)
	}
	if m := c.Models[2]; m.NativeTools != config.NativeToolsAuto || !m.APIKey.IsZero() {
		t.Errorf("%+v", m)
	}
}

func TestWithoutAFileTheDefaultsHold(t *testing.T) {
	want := config.Default()
	for name, get := range map[string]func() (config.Config, error){
		"no path":       func() (config.Config, error) { return config.Load("", resolver) },
		"empty":         func() (config.Config, error) { return config.Parse("f", nil, resolver) },
		"only comments": func() (config.Config, error) { return config.Parse("f", []byte("# nothing\n"), resolver) },
	} {
		if got, err := get(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if want.Listen != "127.0.0.1:8420" || want.Egress != config.EgressPublic || !want.Probe {
		t.Errorf("defaults: %+v", want)
	}
}

func TestEachMistakeHasALineAndASentence(t *testing.T) {
	const key = "sk-very-secret-text"
	cases := []struct{ name, file, want string }{
		{"unknown setting", "listen: 127.0.0.1:1\nlisen: x\n",
			`f, line 2: there is no setting lisen here; the settings are listen, allowed_origins, models, default_model, egress, local_services, probe`},
		{"unknown setting of a model", "models:\n  - name: a\n    url: x\n",
			`f, line 3: there is no setting url here; the settings are name, provider, base_url, model, api_key, context_tokens, native_tools`},
		{"no number", "models:\n  - name: a\n    context_tokens: " + key + "\n",
			"f, line 3: this must be a whole number"},
		{"no boolean", "probe: perhaps\n", "f, line 1: this must be true or false"},
		{"no list", "models: " + key + "\n", `f, line 1: this must be a list of models, each beginning with "- name:"`},
		{"no settings", key, `f, line 1: this must be settings of the form "name: value"`},
		{"a list as key", "models:\n  - api_key: [" + key + "]\n", "f, line 2: this must be text"},
		{"set twice", "probe: true\nprobe: false\n", `f, line 2: "probe" is set twice, first in line 1`},
		{"not YAML", "listen: [1\nmodels: 2\n", "not valid YAML"},
		{"two documents", "probe: true\n---\nprobe: false\n", "one document"},
		{"bad listen", "listen: 8420\n", "f, line 1: listen must look like 127.0.0.1:8420"},
		{"bad port", "listen: 127.0.0.1:99999\n", "f, line 1: listen must look like"},
		{"bad service", "local_services:\n - 127.0.0.1:9200\n - http://127.0.0.1:9200/\n",
			"f, line 3: local_services[1] must look like 127.0.0.1:9200"},
		{"service without a port", "local_services: [wiki.lan]\n", "one host with its port"},
		{"all services", "local_services: ['*:80']\n", "one host with its port"},
		{"bad egress", "\negress: some\n", "f, line 2: egress must be one of none, public, private"},
		{"bad origin", "allowed_origins:\n  - chat.example.org\n",
			"f, line 2: allowed_origins[0] must look like https://chat.example.org"},
		{"no name", "models:\n  - provider: extractive\n", "f, line 2: models[0] needs a name"},
		{"one name twice", "models:\n  - {name: a, provider: extractive}\n  - {name: a, provider: extractive}\n",
			`f, line 3: the name "a" is used by more than one model`},
		{"unknown provider", "models:\n  - {name: a, model: m, provider: gpt, base_url: 'http://h/v1'}\n",
			"models[0].provider must be one of openai, ollama, anthropic, extractive"},
		{"no address", "models:\n  - {name: a, model: m, provider: openai}\n", "models[0] needs base_url"},
		{"key in the address", "models:\n  - {name: a, model: m, provider: openai, base_url: 'http://u:" + key +
			"@h/v1'}\n", "a key belongs into api_key"},
		{"negative window", "models:\n  - {name: a, provider: extractive, context_tokens: -1}\n",
			"must be a positive number"},
		{"unset variable", "models:\n  - name: a\n    provider: ollama\n    model: m\n    api_key: ${env:NOPE}\n",
			"f, line 5: models[0].api_key: the environment variable NOPE is not set"},
		{"missing secret", "models:\n  - {name: a, provider: ollama, model: m, api_key: '${secret:nope}'}\n",
			`there is no secret nope; set it with "bulkhead secret set nope"`},
		{"locked vault", "models:\n  - {name: a, provider: ollama, model: m, api_key: '${secret:LOCKED}'}\n",
			"the vault is locked"},
		{"secret where people see it", "models:\n  - {name: a, provider: ollama, model: '${secret:openai}'}\n",
			"a secret can only stand in api_key"},
		{"no reference", "models:\n  - {name: a, provider: ollama, model: m, api_key: '${LOCAL_KEY}'}\n",
			"a reference must look like ${env:NAME} or ${secret:NAME}"},
		{"too large", strings.Repeat("# x\n", 300_000), "larger than 1 MiB"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := config.Parse("f", []byte(c.file), resolver)
			var mistakes *config.Error
			if !errors.As(err, &mistakes) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), key[:10]) {
				t.Errorf("a value stands in %q", err)
			}
		})
	}
}

func TestAllMistakesAreReportedAtOnceInOrder(t *testing.T) {
	_, err := config.Parse("f", []byte("egress: some\nlisten: x\nmodels:\n  - {name: a, provider: ollama, model: "+
		"'${env:NOPE}'}\n"), resolver)
	var mistakes *config.Error
	if !errors.As(err, &mistakes) || len(mistakes.Mistakes) != 4 {
		t.Fatalf("got %v", err)
	}
	for i := 1; i < len(mistakes.Mistakes); i++ {
		if mistakes.Mistakes[i].Line < mistakes.Mistakes[i-1].Line {
			t.Errorf("out of order: %v", err)
		}
	}
}

func TestLoadReadsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bulkhead.yaml")
	if _, err := config.Load(path, resolver); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := config.Load(path, resolver); err != nil || len(c.Models) != 3 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestOverridesAreCheckedAndLeaveTheOriginal(t *testing.T) {
	c := config.Default()
	got, err := c.With(func(c *config.Config) { c.Listen = "127.0.0.1:0" })
	if err != nil || got.Listen != "127.0.0.1:0" || c.Listen != config.DefaultListen {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.With(func(c *config.Config) { c.Listen = "nowhere" }); err == nil {
		t.Error("a bad address was taken")
	}
}

func TestAKeyNeverShowsItself(t *testing.T) {
	c, err := config.Parse("f", []byte(example), resolver)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("config", "config", c, "key", c.Models[0].APIKey)
	slog.New(slog.NewTextHandler(&log, nil)).Info("config", "config", c, "key", c.Models[0].APIKey)
	type holder struct{ inner struct{ key provider.Key } }
	var h holder
	h.inner.key = c.Models[0].APIKey
	shown := string(encoded) + log.String() + fmt.Sprintf("%v %+v %#v %s %q %v %+v %#v", c, c, c, c.Models[0].APIKey,
		c.Models[0].APIKey, h, h, h)
	for _, secret := range []string{"key-from-env", "key-from-vault"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%s shows itself in %s", secret, shown)
		}
	}
	if !strings.Contains(string(encoded), "[hidden]") {
		t.Errorf("nothing says that there is a key: %s", encoded)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("models: &a [*a]\n"))
	f.Add([]byte("a: &x {<<: *x}\n"))
	f.Add([]byte("models:\n - name: ${env:}\n"))
	f.Add([]byte("screen:\n - {name: a, pattern: '(x)|y', action: replace, replacement: '$1$$'}\n"))
	f.Add([]byte("\xff\xfe"))
	f.Add([]byte("listen: !!binary aGk=\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse("f", data, resolver)
		if err != nil {
			var mistakes *config.Error
			if !errors.As(err, &mistakes) || len(mistakes.Mistakes) == 0 || mistakes.Mistakes[0].Message == "" {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		if _, err := c.With(); err != nil {
			t.Fatalf("what was taken is refused later: %v", err)
		}
	})
}

func TestLogHasTwoForms(t *testing.T) {
	_, err := config.Parse("bulkhead.yaml", []byte("log: loud\n"), resolver)
	if err == nil || !strings.Contains(err.Error(), "log must be one of text, json") {
		t.Errorf("got %v", err)
	}
	if c, err := config.Parse("bulkhead.yaml", []byte("log: text\n"), resolver); err != nil || c.Log != config.LogText {
		t.Errorf("got %q, %v", c.Log, err)
	}
}
