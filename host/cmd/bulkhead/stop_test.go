package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
)

// trigger calls fire when what was written contains text.
type trigger struct {
	bytes.Buffer
	text string
	fire func()
}

// Write implements io.Writer.
func (w *trigger) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.fire()
	}
	return n, err
}

// scripted starts a model server and returns a data folder that is configured
// for it.
func scripted(t *testing.T, replies ...*llmtest.Reply) (model *llmtest.Server, data string) {
	t.Helper()
	model, err := llmtest.Start(replies...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	})
	data = t.TempDir()
	if err := useModuleCache(data); err != nil {
		t.Fatal(err)
	}
	cfg := fmt.Sprintf("probe: false\nmodels:\n  - name: local\n    provider: openai\n    base_url: %s\n    model: "+
		"scripted\n", model.URL())
	if err := os.WriteFile(filepath.Join(data, "bulkhead.yaml"), []byte(cfg), 0o600); err != nil {
		t.Fatal(err)
	}
	return model, data
}

func TestChatWithAModelServer(t *testing.T) {
	t.Run("an interrupt stops the run and keeps what was written", func(t *testing.T) { interrupted(t) })
	t.Run("an interrupt ends the test of a model at once", func(t *testing.T) { testInterrupted(t) })
	t.Run("a model that fails is a sentence and exit code 1", func(t *testing.T) { refusedKey(t) })
}

func interrupted(t *testing.T) {
	never := make(chan struct{})
	_, data := scripted(t, llmtest.Answer().Text("The first part. ").Gate(never).Text("The second."))
	ctx, interrupt := context.WithTimeout(t.Context(), patience)
	defer interrupt()
	out := &trigger{text: "first part", fire: interrupt}
	var errs bytes.Buffer
	if code := run(ctx, []string{"chat", "--data", data, "--tools", "", "What?"}, nil, out, &errs); code != 1 {
		t.Errorf("exit code %d: %s", code, &errs)
	}
	if !strings.Contains(errs.String(), "bulkhead: the run was stopped; what was written is kept") {
		t.Errorf("stderr: %s", &errs)
	}
	// The conversation goes on with what was written.
	_, session, _ := strings.Cut(errs.String(), "session ")
	session, _, _ = strings.Cut(session, "\n")
	model, err := llmtest.Start(llmtest.Answer().Text("Well."))
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	cfg := fmt.Sprintf("probe: false\nmodels:\n  - {name: other, provider: openai, base_url: %q, model: scripted}\n",
		model.URL())
	path := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(path, []byte(cfg), 0o600); err != nil {
		t.Fatal(err)
	}
	errs.Reset()
	again, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if code := run(again, []string{"chat", "--data", data, "--config", path, "--session", session, "--tools", "",
		"And?"}, nil, new(bytes.Buffer), &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	asked := string(model.Requests()[0].Raw)
	if !strings.Contains(asked, "The first part.") || !strings.Contains(asked, "What?") {
		t.Errorf("the model was asked %s", asked)
	}
}

func testInterrupted(t *testing.T) {
	model, data := scripted(t, llmtest.Hang())
	ctx, interrupt := context.WithTimeout(t.Context(), patience)
	defer interrupt()
	go func() {
		if model.WaitRequests(ctx, 1) == nil {
			interrupt()
		}
	}()
	var out, errs bytes.Buffer
	if code := run(ctx, []string{"model", "test", "local", "--data", data}, nil, &out, &errs); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if got := errs.String(); got != "bulkhead: stopped before it was done\n" {
		t.Errorf("stderr: %s", got)
	}
}

func refusedKey(t *testing.T) {
	_, data := scripted(t, llmtest.Status(401, `{"error":{"message":"bad key sk-secret"}}`))
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"chat", "--data", data, "--tools", "", "What?"}, nil, &out, &errs); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(errs.String(), "wants a key, and this model has none") ||
		strings.Contains(errs.String(), "sk-secret") {
		t.Errorf("stderr: %s", &errs)
	}
}
