package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/llm/trial"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/store/space"
)

type modelsReply struct {
	Models  []rest.ModelView `json:"models"`
	Default string           `json:"default"`
	Looks   bool             `json:"looks"`
}

// manage makes a host's models ones that an operator can change.
func manage(t *testing.T) func(*Config) {
	return func(c *Config) {
		kept, err := store.OpenMemory(store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		models, err := catalog.New(catalog.Config{Storage: kept.Space("models")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { models.Close(); _ = kept.Close() })
		c.Models = models
	}
}

func TestModelIsAddedTestedChosenAndRemoved(t *testing.T) {
	h := newHost(t, manage(t))
	body := `{"name":"team/big:70b","base_url":"` + h.model.URL() +
		`","model":"big:70b","api_key":"sk-hidden","context_tokens":8192}`

	h.model.Add(llmtest.Answer().Text("one, ", "two"),
		llmtest.Answer().ToolCall("c", "tide_table", `{"place":"Skerryvore"}`))
	var report trial.Report
	h.call("POST", apiRoot+"/models/test", body, http.StatusOK, &report)
	if !report.Works || report.Checks[len(report.Checks)-1].State != trial.OK {
		t.Errorf("a draft gives %+v", report)
	}
	if got := h.model.Requests()[0].Header.Get("Authorization"); got != "Bearer sk-hidden" {
		t.Errorf("the key went out as %q", got)
	}

	var list modelsReply
	h.call("POST", apiRoot+"/models", body, http.StatusCreated, &list)
	if len(list.Models) != 2 || list.Models[0].Name != "team/big:70b" || list.Models[0].Origin != catalog.Added ||
		!list.Models[0].HasKey || list.Models[0].ContextTokens != 8192 {
		t.Errorf("the list is %+v", list)
	}
	h.fails(h.request("POST", apiRoot+"/models", body), http.StatusConflict, fault.Conflict)

	h.call("PUT", apiRoot+"/models/default", `{"name":"extractive"}`, http.StatusOK, &list)
	if list.Default != "extractive" {
		t.Errorf("the default is %q", list.Default)
	}
	h.model.Add(llmtest.Status(http.StatusUnauthorized, `{"error":{"message":"no"}}`))
	h.call("POST", apiRoot+"/models/test", `{"name":"team/big:70b"}`, http.StatusOK, &report)
	if report.Works || report.Checks[1].State != trial.Failed {
		t.Errorf("a refused key gives %+v", report)
	}

	h.call("DELETE", apiRoot+"/models/team%2Fbig:70b", "", http.StatusNoContent, nil)
	h.fails(h.request("DELETE", apiRoot+"/models/team%2Fbig:70b", ""), http.StatusNotFound, "unknown_model")
	h.fails(h.request("DELETE", apiRoot+"/models/extractive", ""), http.StatusConflict, fault.Conflict)
	h.fails(h.request("PUT", apiRoot+"/models/default", `{"name":"team/big:70b"}`), http.StatusNotFound,
		"unknown_model")
	h.fails(h.request("POST", apiRoot+"/models/test", `{"name":"nobody"}`), http.StatusNotFound, "unknown_model")
}

func TestKeyOfAModelNeverComesBack(t *testing.T) {
	h := newHost(t, manage(t))
	_, data := h.do(h.request("POST", apiRoot+"/models",
		`{"name":"m","base_url":"http://127.0.0.1:1/v1","model":"m","api_key":"sk-hidden"}`))
	_, more := h.do(h.request("GET", apiRoot+"/models", ""))
	_, bad := h.do(h.request("POST", apiRoot+"/models", `{"name":"","base_url":"x","model":"m","api_key":"sk-hidden"}`))
	_, test := h.do(h.request("POST", apiRoot+"/models/test", `{"name":"m"}`))
	for _, text := range []string{string(data), string(more), string(bad), string(test), h.logged()} {
		if strings.Contains(text, "sk-hidden") {
			t.Errorf("the key shows in %s", text)
		}
	}
	if !strings.Contains(string(bad), `"field":"name"`) {
		t.Errorf("the mistake is told as %s", bad)
	}
}

func TestWhatAServerOffersIsTold(t *testing.T) {
	h := newHost(t, manage(t))
	h.model.Models("qwen3:8b", "nomic-embed-text")
	var offers struct {
		Models []string `json:"models"`
	}
	h.call("POST", apiRoot+"/models/offers", `{"base_url":"`+h.model.URL()+`/"}`, http.StatusOK, &offers)
	if len(offers.Models) != 1 || offers.Models[0] != "qwen3:8b" {
		t.Errorf("the offers are %v", offers.Models)
	}
	for _, address := range []string{"nonsense", "http://127.0.0.1:1/v1", strings.TrimSuffix(h.model.URL(), "/v1")} {
		h.fails(h.request("POST", apiRoot+"/models/offers", `{"base_url":"`+address+`"}`), http.StatusBadRequest,
			fault.Invalid)
	}
	h.fails(h.request("POST", apiRoot+"/models/refresh", ""), http.StatusBadRequest, fault.Unsupported)
}

func TestOnlyOperatorsChangeModels(t *testing.T) {
	h := newHost(t, manage(t))
	h.call("POST", apiRoot+"/models", `{"name":"m","base_url":"http://127.0.0.1:1/v1","model":"m"}`, http.StatusCreated,
		nil)
	h.cookie = h.signedIn("anna")
	_, data := h.do(h.request("GET", apiRoot+"/models", ""))
	if !strings.Contains(string(data), `"name":"m"`) || strings.Contains(string(data), "127.0.0.1:1") {
		t.Errorf("a user sees %s", data)
	}
	for _, r := range []*http.Request{
		h.request("POST", apiRoot+"/models", `{"name":"n"}`), h.request("DELETE", apiRoot+"/models/m", ""),
		h.request("PUT", apiRoot+"/models/default", `{"name":"m"}`),
		h.request("POST", apiRoot+"/models/test", `{"name":"m"}`),
		h.request("POST", apiRoot+"/models/refresh", ""),
		h.request("POST", apiRoot+"/models/offers", `{"base_url":"http://127.0.0.1:1/v1"}`),
	} {
		h.fails(r, http.StatusForbidden, fault.Forbidden)
	}
}

// signedIn adds a user without rights and returns what their browser has.
func (h *testHost) signedIn(name string) string {
	h.t.Helper()
	user, err := h.store.Users().Create(h.t.Context(), anOperator, name, false)
	var token, cookie string
	if err == nil {
		token, _, err = h.store.SignIns().CreateLink(h.t.Context(), anOperator, user.ID, time.Hour)
	}
	if err == nil {
		cookie, _, err = h.store.SignIns().RedeemLink(h.t.Context(), token)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return cookie
}

var _ catalog.Storage = (*space.Space)(nil)

func TestSeldomSettingsOfAModelAreChecked(t *testing.T) {
	h := newHost(t, manage(t))
	for body, field := range map[string]string{
		`{"name":"m","provider":"ollama","model":"q","keep_alive":"soon"}`:                                       "keep_alive",
		`{"name":"m","provider":"ollama","model":"q","native_search":true}`:                                      "native_search",
		`{"name":"m","base_url":"http://127.0.0.1:1/v1","model":"q","api":"soap"}`:                               "api",
		`{"name":"m","base_url":"http://127.0.0.1:1/v1","model":"q","reasoning":"often"}`:                        "reasoning",
		`{"name":"m","base_url":"http://127.0.0.1:1/v1","model":"q","native_tools":"perhaps"}`:                   "native_tools",
		`{"name":"m","base_url":"http://127.0.0.1:1/v1","model":"q","first_token_timeout":"5"}`:                  "first_token_timeout",
		`{"name":"m","base_url":"http://127.0.0.1:1/v1","model":"q","max_output_tokens":-1,"idle_timeout":"1m"}`: "max_output_tokens",
	} {
		if _, data := h.do(h.request("POST", apiRoot+"/models", body)); !strings.Contains(string(data),
			`"field":"`+field+`"`) {
			t.Errorf("%s: %s", body, data)
		}
	}
	h.call("POST", apiRoot+"/models", `{"name":"m","provider":"ollama","model":"q","keep_alive":"30m","context_tokens":9000,"vision":"no"}`, http.StatusCreated, nil)
}
