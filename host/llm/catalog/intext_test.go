package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

func TestAModelWithoutNativeToolsIsToldOfThemInThePrompt(t *testing.T) {
	server := modelServer(t, "m")
	server.Add(llmtest.Answer().Text("ok"))
	c := open(t, catalog.Config{Models: []config.Model{{Name: "plain", Provider: provider.OpenAI, BaseURL: server.URL(),
		Model: "m", NativeTools: config.NativeToolsNo}}})
	m, err := c.Get("plain")
	if err != nil {
		t.Fatal(err)
	}
	request := llm.Request{Choice: llm.ChoiceAuto, Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hi"}},
		Tools: []llm.ToolDef{{Name: "search", Parameters: json.RawMessage(`{"type":"object"}`)}}}
	for _, err := range m.Stream(t.Context(), request) {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := server.Requests()[0]
	if got.Offers("search") || !strings.Contains(got.Body.Messages[0].Content, `"name":"search"`) {
		t.Errorf("the server got %s", got.Raw)
	}
}
