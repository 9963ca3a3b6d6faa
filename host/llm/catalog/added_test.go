package catalog_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/store/space"
)

func storage(t *testing.T, path string) (*space.Space, func()) {
	t.Helper()
	s, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Space("models"), func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAddedModelsOutliveTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bulkhead.db")
	models, closeStore := storage(t, path)
	c := open(t, catalog.Config{Storage: models})
	big := config.Model{Name: "big", BaseURL: "http://127.0.0.1:1/v1", Model: "big:70b",
		APIKey: llm.NewKey("sk-hidden"), ContextTokens: 4096}
	if err := c.Add(anOperator, big); err != nil {
		t.Fatal(err)
	}
	if err := c.Add(anOperator, config.Model{Name: "alt", Provider: provider.Ollama, Model: "alt"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Choose(anOperator, "big"); err != nil {
		t.Fatal(err)
	}
	if got := names(c); got != "alt, big, extractive" || c.Default() != "big" {
		t.Errorf("the catalog has %s, default %s", got, c.Default())
	}
	closeStore()

	models, closeStore = storage(t, path)
	defer closeStore()
	c = open(t, catalog.Config{Storage: models})
	if got := names(c); got != "alt, big, extractive" || c.Default() != "big" {
		t.Errorf("after a restart the catalog has %s, default %s", got, c.Default())
	}
	for _, e := range entries(c) {
		if text := fmt.Sprintf("%+v %#v", e, e); strings.Contains(text, "sk-hidden") {
			t.Errorf("the key shows in %s", text)
		}
		if e.Name == "big" && (!e.HasKey || e.Origin != catalog.Added || e.BaseURL != "http://127.0.0.1:1/v1" ||
			e.ContextTokens != 4096) {
			t.Errorf("big is %+v", e)
		}
		if e.Name == "alt" && e.BaseURL != "http://127.0.0.1:11434" {
			t.Errorf("alt is %+v", e)
		}
	}
	if err := c.Remove(anOperator, "big"); err != nil {
		t.Fatal(err)
	}
	if got := names(c); got != "alt, extractive" || c.Default() != "alt" {
		t.Errorf("the catalog has %s, default %s", got, c.Default())
	}
	if _, err := c.Get("big"); !errors.Is(err, catalog.ErrUnknown) {
		t.Errorf("a removed model gives %v", err)
	}
}

func TestFoundModelGivesWayToTheOneAdded(t *testing.T) {
	server := modelServer(t, "qwen3:8b", "other")
	models, closeStore := storage(t, filepath.Join(t.TempDir(), "bulkhead.db"))
	defer closeStore()
	c := open(t, catalog.Config{Storage: models, Probe: true,
		Targets: []catalog.Target{{Kind: "Ollama", BaseURL: server.URL()}}})
	if err := c.Refresh(t.Context(), anOperator); err != nil {
		t.Fatal(err)
	}
	if err := c.Add(anOperator, config.Model{Name: "qwen3:8b", BaseURL: server.URL(), Model: "qwen3:8b"}); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		if got := names(c); got != "qwen3:8b, other, extractive" {
			t.Errorf("the catalog has %s", got)
		}
		if e := entries(c)[0]; e.Origin != catalog.Added {
			t.Errorf("the first is %+v", e)
		}
	}
	check()
	if err := c.Refresh(t.Context(), anOperator); err != nil {
		t.Fatal(err)
	}
	check()
	taken := config.Model{Name: "other", BaseURL: "http://127.0.0.1:1/v1", Model: "x"}
	if err := c.Add(anOperator, taken); !errors.Is(err, catalog.ErrTaken) {
		t.Errorf("the name of a found model of another server gives %v", err)
	}
	offers, err := c.Offers(t.Context(), anOperator, config.Model{BaseURL: server.URL() + "/"})
	if err != nil || strings.Join(offers, ",") != "qwen3:8b,other" {
		t.Errorf("the server offers %v, %v", offers, err)
	}
	if _, err := c.Offers(t.Context(), anOperator, config.Model{BaseURL: nothing}); err == nil {
		t.Error("a server that is not there offers something")
	}
}

func TestWhatIsNoModelIsRefusedInWords(t *testing.T) {
	models, closeStore := storage(t, filepath.Join(t.TempDir(), "bulkhead.db"))
	defer closeStore()
	c := open(t, catalog.Config{Storage: models, Models: []config.Model{{Name: "file", Provider: provider.OpenAI,
		BaseURL: "http://127.0.0.1:1/v1", Model: "m"}}})
	for _, tc := range []struct {
		m     config.Model
		field string
	}{
		{config.Model{}, "name"},
		{config.Model{Name: "a\nb"}, "name"},
		{config.Model{Name: strings.Repeat("n", 201)}, "name"},
		{config.Model{Name: "a"}, "base_url"},
		{config.Model{Name: "a", BaseURL: "ftp://x/v1", Model: "m"}, "base_url"},
		{config.Model{Name: "a", BaseURL: "http://user:pass@x/v1", Model: "m"}, "base_url"},
		{config.Model{Name: "a", BaseURL: "http://x/v1/chat/completions", Model: "m"}, "base_url"},
		{config.Model{Name: "a", BaseURL: "http://x/v1"}, "model"},
		{config.Model{Name: "a", BaseURL: "http://x/v1", Model: "m", ContextTokens: -1}, "context_tokens"},
		{config.Model{Name: "a", BaseURL: "http://x/v1", Model: "m", APIKey: llm.NewKey("a\r\nX: y")}, "api_key"},
		{config.Model{Name: "a", Provider: provider.Extractive}, "provider"},
	} {
		var mistake *catalog.MistakeError
		err := c.Add(anOperator, tc.m)
		if !errors.As(err, &mistake) || mistake.Field != tc.field || !strings.HasSuffix(mistake.Message, ".") {
			t.Errorf("%+v gives %v, want a mistake in %s", tc.m, err, tc.field)
		}
	}
	ok := config.Model{Name: "file", BaseURL: "http://127.0.0.1:1/v1", Model: "m"}
	if err := c.Add(anOperator, ok); !errors.Is(err, catalog.ErrTaken) {
		t.Errorf("the name of a configured model gives %v", err)
	}
	if err := c.Remove(anOperator, "file"); !errors.Is(err, catalog.ErrNotAdded) {
		t.Errorf("removing a configured model gives %v", err)
	}
	if err := c.Remove(anOperator, "nobody"); !errors.Is(err, catalog.ErrUnknown) {
		t.Errorf("removing nothing gives %v", err)
	}
	if err := c.Choose(anOperator, "nobody"); !errors.Is(err, catalog.ErrUnknown) {
		t.Errorf("choosing nothing gives %v", err)
	}
	if err := open(t, catalog.Config{}).Add(anOperator, ok); !errors.Is(err, catalog.ErrNoStorage) {
		t.Errorf("a catalog without storage gives %v", err)
	}
}
