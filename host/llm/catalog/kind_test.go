package catalog

import (
	"testing"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

func TestEachProviderThatCanBeAddedHasAnAdapter(t *testing.T) {
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, p := range provider.Addable() {
		m, err := c.adapter(config.Model{Name: "m", Provider: p.Name, BaseURL: p.ExampleURL, Model: p.ExampleModel})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
		} else if got := m.Info().Provider; got != string(p.Name) {
			t.Errorf("%s is %s to the page", p.Name, got)
		}
	}
	if len(kinds) != len(provider.Addable()) {
		t.Errorf("%d providers can be made, %d added", len(kinds), len(provider.Addable()))
	}
}
