package catalog_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// anOperator is an operator of no account, for what only operators may do.
var anOperator = identity.New(identity.Account{ID: "u_operator", Roles: []identity.Role{identity.Operator}},
	identity.Command)

// entries are the models as an operator sees them.
func entries(c *catalog.Catalog) []catalog.Entry {
	list, err := c.Entries(anOperator)
	if err != nil {
		panic(err) // an operator may
	}
	return list
}

// TestOnlyOperatorsChangeTheModels asks the catalogue itself, as everybody who is none.
func TestOnlyOperatorsChangeTheModels(t *testing.T) {
	models, closeStore := storage(t, filepath.Join(t.TempDir(), "bulkhead.db"))
	t.Cleanup(closeStore)
	c := open(t, catalog.Config{Storage: models, Probe: true})
	if err := c.Add(anOperator, config.Model{Name: "kept", BaseURL: "http://127.0.0.1:1/v1", Model: "x"}); err != nil {
		t.Fatal(err)
	}
	before := entries(c)
	m := config.Model{Name: "new", BaseURL: "http://127.0.0.1:1/v1", Model: "y"}
	for _, by := range []struct {
		p    identity.Principal
		want error
	}{
		{identity.Principal{}, identity.ErrNobody},
		{identity.New(identity.Account{ID: "u_eve"}, identity.Cookie), identity.ErrForbidden},
		{identity.ForUser("u_operator", "a test"), identity.ErrForbidden},
	} {
		_, drafted := c.Draft(by.p, m)
		_, offered := c.Offers(t.Context(), by.p, m)
		_, inspected := c.Entries(by.p)
		for name, err := range map[string]error{
			"Add": c.Add(by.p, m), "Remove": c.Remove(by.p, "kept"), "Choose": c.Choose(by.p, "kept"),
			"Refresh": c.Refresh(t.Context(), by.p), "Draft": drafted, "Offers": offered, "Entries": inspected,
		} {
			if !errors.Is(err, by.want) {
				t.Errorf("%s by %s: %v, want %v", name, by.p, err, by.want)
			}
		}
	}
	if err := c.Add(identity.ForHost("a test"), m); !errors.Is(err, identity.ErrForbidden) {
		t.Errorf("the host added a model by itself: %v", err)
	}
	if after := entries(c); !slices.Equal(before, after) || c.Default() == "kept" && before[0].Name != "kept" {
		t.Errorf("the models were %+v and are %+v", before, after)
	}
}

func open(t *testing.T, cfg catalog.Config) *catalog.Catalog {
	t.Helper()
	c, err := catalog.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func names(c *catalog.Catalog) string {
	var out []string
	for _, info := range c.List() {
		out = append(out, info.Name)
	}
	return strings.Join(out, ", ")
}

// nothing is an address at which nothing listens: no port that was free a moment ago, which
// another process may have by now.
const nothing = "http://127.0.0.1:1/v1"

func modelServer(t *testing.T, models ...string) *llmtest.Server {
	t.Helper()
	s, err := llmtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	s.Models(models...)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestWithoutConfigurationThereIsTheBuiltInModel(t *testing.T) {
	c := open(t, catalog.Config{Probe: true, Targets: []catalog.Target{{Kind: "Ollama", BaseURL: nothing}}})
	if err := c.Refresh(t.Context(), anOperator); err != nil {
		t.Fatal(err)
	}
	if got := names(c); got != "extractive" || c.Default() != "extractive" {
		t.Errorf("models %q, default %q", got, c.Default())
	}
	if m, err := c.Get(""); err != nil || m.Info().Note == "" {
		t.Errorf("the default: %v, %v", m, err)
	}
	if _, err := c.Get("gpt"); !errors.Is(err, catalog.ErrUnknown) {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestModelsOnThisMachineAreFound(t *testing.T) {
	ollama := modelServer(t, "qwen3:8b", "nomic-embed-text", "shared", "bad\nname", "")
	llama := modelServer(t, "/models/gemma.gguf", "shared")
	c := open(t, catalog.Config{
		Models: []config.Model{{Name: "mine", Provider: provider.Ollama, Model: "configured",
			BaseURL: strings.TrimSuffix(ollama.URL(), "/v1")}},
		Probe: true,
		Targets: []catalog.Target{
			{Kind: "Ollama", BaseURL: ollama.URL()}, {Kind: "llama.cpp", BaseURL: llama.URL()},
			{Kind: "none", BaseURL: nothing},
		},
	})
	if err := c.Refresh(t.Context(), anOperator); err != nil {
		t.Fatal(err)
	}
	if got, want := names(c), "mine, qwen3:8b, shared, gemma, shared (llama.cpp), extractive"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c.Default() != "mine" {
		t.Errorf("default %q", c.Default())
	}

	first, err := c.Get("qwen3:8b")
	if err != nil {
		t.Fatal(err)
	}
	ollama.Models("qwen3:8b", "configured")
	if err := c.Refresh(t.Context(), anOperator); err != nil {
		t.Fatal(err)
	}
	if got, want := names(c), "mine, qwen3:8b, gemma, shared, extractive"; got != want {
		t.Errorf("after a change: got  %s\nwant %s", got, want)
	}
	if again, err := c.Get("qwen3:8b"); err != nil || again != first {
		t.Errorf("a model that stayed is another value: %v", err)
	}
}

func TestAFoundModelAnswers(t *testing.T) {
	server := modelServer(t, "qwen3:8b")
	server.Add(llmtest.Answer().Text("hi"))
	c := open(t, catalog.Config{Probe: true, Targets: []catalog.Target{{Kind: "Ollama", BaseURL: server.URL()}}})
	if err := c.Refresh(t.Context(), anOperator); err != nil {
		t.Fatal(err)
	}
	m, err := c.Get("")
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for ev, err := range m.Stream(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser,
		Text: "hello"}}}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, ok := ev.(llm.Text); ok {
			text += ev.Delta
		}
	}
	req := server.Requests()[0]
	if text != "hi" || req.Body.Model != "qwen3:8b" || req.Header.Get("Authorization") != "" {
		t.Errorf("text %q, request %s", text, req.Raw)
	}
}

func TestProbeCanBeTurnedOff(t *testing.T) {
	server := modelServer(t, "qwen3:8b")
	c := open(t, catalog.Config{Targets: []catalog.Target{{Kind: "Ollama", BaseURL: server.URL()}}})
	if err := c.Refresh(t.Context(), anOperator); err != nil || names(c) != "extractive" {
		t.Errorf("%v, models %s", err, names(c))
	}
}

func TestOddRepliesOfAProbeAreNoModels(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"a web page": func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere",
				http.StatusFound)
		},
		"not there": http.NotFound,
		"an error":  func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"error":"x"}`)) },
		"cut":       func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.Close()
			c := open(t, catalog.Config{Probe: true,
				Targets: []catalog.Target{{Kind: "x", BaseURL: server.URL + "/v1"}}})
			if err := c.Refresh(t.Context(), anOperator); err != nil || names(c) != "extractive" {
				t.Errorf("%v, models %s", err, names(c))
			}
		})
	}
}

func TestASilentServerDelaysNoOne(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		<-r.Context().Done()
	}))
	defer server.Close()
	c := open(t, catalog.Config{Probe: true, ProbeTimeout: 50 * time.Millisecond,
		Targets: []catalog.Target{{Kind: "x", BaseURL: server.URL + "/v1"}}})
	if err := c.Refresh(t.Context(), anOperator); err != nil || names(c) != "extractive" {
		t.Errorf("%v, models %s", err, names(c))
	}

	slow := open(t, catalog.Config{Probe: true, Targets: []catalog.Target{{Kind: "x", BaseURL: server.URL + "/v1"}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := slow.Refresh(ctx, anOperator); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestConfiguredModels(t *testing.T) {
	base := config.Model{Name: "a", Provider: provider.OpenAI, Model: "m", BaseURL: "http://127.0.0.1:1/v1"}
	mend := func(change func(*config.Model)) []config.Model {
		m := base
		change(&m)
		return []config.Model{m}
	}
	for says, models := range map[string][]config.Model{
		"before /v1/messages": mend(func(m *config.Model) {
			m.Provider, m.BaseURL = provider.Anthropic,
				"http://h/v1/messages"
		}),
		"no provider":             mend(func(m *config.Model) { m.Provider = "other" }),
		"api_key":                 mend(func(m *config.Model) { m.BaseURL = "http://u:p@host/v1" }),
		"belongs to the built-in": mend(func(m *config.Model) { m.Name = "extractive" }),
	} {
		if _, err := catalog.New(catalog.Config{Models: models}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q in %v", says, err)
		}
	}
	c := open(t, catalog.Config{
		Models:       []config.Model{base, {Name: "quotes", Provider: provider.Extractive}},
		DefaultModel: "quotes",
	})
	if got := names(c); got != "a, quotes" || c.Default() != "quotes" {
		t.Errorf("models %q, default %q", got, c.Default())
	}
	if i := slices.IndexFunc(c.List(), func(i llm.Info) bool { return i.Provider == "extractive" }); i != 1 {
		t.Errorf("list: %+v", c.List())
	}
}
