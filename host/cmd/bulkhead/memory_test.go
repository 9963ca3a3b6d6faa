package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
)

// TestAMemoryIsJudgedByTheModelThatAnswers goes all the way: the chat's model calls
// add_memory, the module asks that model through the gate and egress, and what it
// says is what is kept.
func TestAMemoryIsJudgedByTheModelThatAnswers(t *testing.T) {
	model, err := llmtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	var says atomic.Value // what the model says of the notes, "" to fail
	says.Store("")
	model.Answer(func(r llmtest.Request) *llmtest.Reply {
		switch {
		case r.Body.Tools == nil && strings.Contains(r.Body.Messages[0].Content, "notes about one person"):
			says := says.Load().(string)
			if says == "" {
				return llmtest.Status(http.StatusBadRequest, `{"error":{"message":"no"}}`)
			}
			return llmtest.Answer().Text("<think>Let me see.</think>", says)
		case r.Offers("add_memory") && r.Last().Role == "user":
			args, err := json.Marshal(map[string]string{"text": r.Last().Content})
			if err != nil {
				panic(err)
			}
			return llmtest.Answer().ToolCall("c", "add_memory", string(args))
		default:
			return llmtest.Answer().Text("Noted.")
		}
	})
	data := t.TempDir()
	if err := useModuleCache(data); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("probe: false\ndefault_model: judge\nmodels:\n  - name: judge\n    provider: openai\n    "+
		"base_url: %s\n    model: judge\n", model.URL())
	if err := os.WriteFile(filepath.Join(data, "bulkhead.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	host := startHost(t, data)
	if _, err := os.Stat("../../../plugins/dist/memory.wasm"); err != nil {
		t.Skip("the built-in plugins are not built; the build makes them")
	}
	for _, step := range []struct {
		text, says string
		want       []string
	}{
		{"I live in Berlin.", "", []string{"I live in Berlin."}}, // nothing to compare with
		{"I moved to Hamburg.", `{"decision":"replaces","note":1}`, []string{"I moved to Hamburg."}},
		{"Hamburg is where you find me.", `{"decision":"same","note":1}`, []string{"I moved to Hamburg."}},
		{"I am fond of harbours.", "", []string{"I am fond of harbours.", "I moved to Hamburg."}}, // the model fails
		{"I like cranes.", "It is the same as note 1.",
			[]string{"I like cranes.", "I am fond of harbours.", "I moved to Hamburg."}},
	} {
		says.Store(step.says)
		if _, err := host.ask(step.text); err != nil {
			t.Fatal(err)
		}
		var kept struct{ Memories []struct{ Text string } }
		host.get(t, "memories", &kept)
		var texts []string
		for _, m := range kept.Memories {
			texts = append(texts, m.Text)
		}
		if !slices.Equal(texts, step.want) {
			t.Errorf("after %q the memories are %q", step.text, texts)
		}
	}
	questions := 0
	for _, r := range model.Requests() {
		if r.Body.Tools == nil {
			questions++
			if r.Body.MaxTokens != 1024 || r.Body.Model != "judge" {
				t.Errorf("asked %d tokens of %q", r.Body.MaxTokens, r.Body.Model)
			}
		}
	}
	if questions != 4 {
		t.Errorf("the model was asked %d times", questions)
	}
}

// ask sends a message of a new conversation and returns once it is answered.
func (h *servingHost) ask(text string) (answer string, err error) {
	body, err := json.Marshal(map[string]any{"text": text, "stream": false})
	if err != nil {
		return "", err
	}
	resp, err := h.client.Post("http://bulkhead/api/v1/sessions/new/messages", "application/json",
		strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var said struct{ Text string }
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil || resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %v", resp.Status, err)
	}
	return said.Text, nil
}
