package provider

import (
	"net/url"
	"testing"
)

func TestEachProviderIsDescribedForAPerson(t *testing.T) {
	seen := map[Name]bool{}
	for _, p := range All {
		if seen[p.Name] || p.Name == "" || p.Title == "" {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
		if p.Builtin {
			continue
		}
		for _, address := range []string{p.ExampleURL, p.BaseURL} {
			u, err := url.Parse(address)
			if err != nil || u.Host == "" && address != "" || p.ExampleURL == "" || p.ExampleModel == "" {
				t.Errorf("%s: %q is no example", p.Name, address)
			}
		}
	}
}

func TestSentencesNameThoseThatTakeASetting(t *testing.T) {
	for setting, want := range map[string]string{SettingAPI: "openai", SettingKeepAlive: "ollama",
		SettingNativeSearch: "openai with api: responses or anthropic", "made_up": ""} {
		if got := Takers(setting); got != want {
			t.Errorf("%s: %q", setting, got)
		}
	}
	if got := AddableNames(); got != "openai, ollama or anthropic" {
		t.Errorf("%q", got)
	}
}

func TestWhoTakesASetting(t *testing.T) {
	for _, c := range []struct {
		name         Name
		setting, api string
		want         bool
	}{
		{OpenAI, SettingAPI, "", true}, {Ollama, SettingAPI, "", false}, {Anthropic, SettingNativeSearch, "", true},
		{OpenAI, SettingNativeSearch, "", false}, {OpenAI, SettingNativeSearch, APIResponses, true},
		{Extractive, SettingKeepAlive, "", false}, {"made_up", SettingKeepAlive, "", false},
	} {
		if got := Takes(c.name, c.setting, c.api); got != c.want {
			t.Errorf("%s takes %s with %q: %v", c.name, c.setting, c.api, got)
		}
	}
}
