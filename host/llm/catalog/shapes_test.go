package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

const sse, plainJSON = "text/event-stream", "application/json"

func chunkOf(content string) string {
	return `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":` + content + `},"finish_reason":null}]}`
}

const ended = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

// TestAnswersOfOtherShapesAreTaken: what servers send instead of the stream of their
// protocol, by the interface that is asked. A failure is written as !sentence.
func TestAnswersOfOtherShapesAreTaken(t *testing.T) {
	message := `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"All at once."},"finish_reason":"stop"}]}`
	for name, c := range map[string]struct {
		api, media string
		status     int
		body, want string
	}{
		"whole":                       {"chat", plainJSON, 200, message, "All at once."},
		"whole, pretty":               {"chat", plainJSON, 200, strings.ReplaceAll(message, ",", ",\n  "), "All at once."},
		"whole, no reason to finish":  {"chat", plainJSON, 200, `{"choices":[{"message":{"content":"So."},"finish_reason":null}]}`, "So."},
		"whole, a call":               {"chat", plainJSON, 200, `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, "f({})"},
		"whole as an event":           {"chat", sse, 200, "data: " + message + "\n\ndata: [DONE]\n\n", "All at once."},
		"the whole after its pieces":  {"chat", sse, 200, "data: " + chunkOf(`"All at once."`) + "\n\ndata: " + message + "\n\ndata: [DONE]\n\n", "All at once."},
		"several choices":             {"chat", sse, 200, `data: {"choices":[{"index":0,"delta":{"content":"one"}},{"index":1,"delta":{"content":"two"}}]}` + "\n\ndata: " + ended + "\n\n", "one"},
		"an error whole":              {"chat", plainJSON, 200, `{"error":{"message":"no memory"}}`, "!no memory"},
		"a surrogate pair in two":     {"chat", sse, 200, "data: " + chunkOf(`"Hi \ud83d"`) + "\n\ndata: " + chunkOf(`"\ude80"`) + "\n\ndata: " + ended + "\n\n", "Hi 🚀"},
		"an escaped half is text":     {"chat", sse, 200, "data: " + chunkOf(`"\\ud83d"`) + "\n\ndata: " + chunkOf(`"\\ude80"`) + "\n\ndata: " + ended + "\n\n", `\ud83d\ude80`},
		"a ping that is no JSON":      {"chat", sse, 200, "data: " + chunkOf(`"One "`) + "\n\nevent: ping\ndata: ping\n\ndata: " + chunkOf(`"two."`) + "\n\ndata: " + ended + "\n\n", "One two."},
		"a foreign event":             {"chat", sse, 200, "event: metadata\ndata: {\"message\":\"hello\"}\n\ndata: " + chunkOf(`"One"`) + "\n\ndata: " + ended + "\n\n", "One"},
		"comments":                    {"chat", sse, 200, ": hi\n\n: hi\ndata: " + chunkOf(`"One"`) + "\n: hi\n\ndata: " + ended + "\n\n", "One"},
		"lines that end with CR":      {"chat", sse, 200, "data: " + chunkOf(`"One"`) + "\r\rdata: " + ended + "\r\r", "One"},
		"lines that end with CRLF":    {"chat", sse, 200, "data: " + chunkOf(`"One"`) + "\r\n\r\ndata: " + ended + "\r\n\r\n", "One"},
		"a byte order mark":           {"chat", sse, 200, "\uFEFFdata: " + chunkOf(`"One"`) + "\n\ndata: " + ended + "\n\n", "One"},
		"no blank line at the end":    {"chat", sse, 200, "data: " + chunkOf(`"One"`) + "\n\ndata: " + ended, "One"},
		"JSON without a field":        {"chat", sse, 200, chunkOf(`"One"`) + "\n" + ended + "\n", "One"},
		"an error in its own field":   {"chat", sse, 200, "data: " + chunkOf(`"One"`) + "\n\nerror: {\"message\":\"no memory\"}\n\n", "One!no memory"},
		"an error as a text":          {"chat", sse, 200, "error: no memory\n\n", "!no memory"},
		"an error as an event":        {"chat", sse, 200, "event: error\ndata: {\"message\":\"no memory\"}\n\n", "!no memory"},
		"an error without a field":    {"chat", sse, 200, "data: " + chunkOf(`"One"`) + "\n\n{\"error\":{\"message\":\"no memory\"}}\n", "One!no memory"},
		"500 with a reason":           {"chat", plainJSON, 500, `{"error":"this model needs 9 GiB of memory"}`, "!It says: this model needs 9 GiB of memory"},
		"502 with a title":            {"chat", plainJSON, 502, `{"title":"no worker is free","status":502}`, "!It says: no worker is free"},
		"500 as text":                 {"chat", "text/plain", 500, "out of memory", "!It says: out of memory"},
		"422 with a list":             {"chat", plainJSON, 422, `{"detail":[{"loc":["body","temperature"],"msg":"must be below 2","type":"value_error"}]}`, "!temperature: must be below 2"},
		"400 with errors":             {"chat", plainJSON, 400, `{"errors":[{"message":"no such tool"}]}`, "!no such tool"},
		"an address in the reason":    {"chat", plainJSON, 500, `{"error":"cannot reach 10.0.3.7:8000 with key sk-abcdefgh1234"}`, "!cannot reach [hidden] with [hidden]"},
		"a code of 500 in the stream": {"chat", sse, 200, `data: {"error":{"message":"out of memory","code":500}}` + "\n\n", "!It says: out of memory"},

		"responses, text at the end": {"responses", sse, 200, event("response.output_text.done", `"output_index":0,"content_index":0,"text":"Told."`) + completed(`"Told."`), "Told."},
		"responses, only completed":  {"responses", sse, 200, completed(`"Told."`), "Told."},
		"responses, item at the end": {"responses", sse, 200, event("response.output_item.done", `"output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Told."}]}`) + completed(`"Told."`), "Told."},
		"responses, pieces":          {"responses", sse, 200, event("response.output_text.delta", `"output_index":0,"content_index":0,"delta":"To"`) + event("response.output_text.delta", `"output_index":0,"content_index":0,"delta":"ld."`) + event("response.output_text.done", `"output_index":0,"content_index":0,"text":"Told."`) + completed(`"Told."`), "Told."},
		"responses, whole":           {"responses", plainJSON, 200, `{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Told."}]}]}`, "Told."},
		"responses, a whole call":    {"responses", plainJSON, 200, `{"object":"response","status":"completed","output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}`, "f({})"},

		"anthropic, whole":          {"anthropic", plainJSON, 200, `{"type":"message","role":"assistant","content":[{"type":"text","text":"All at once."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}`, "All at once."},
		"anthropic, a whole call":   {"anthropic", plainJSON, 200, `{"type":"message","content":[{"type":"tool_use","id":"a","name":"f","input":{"x":1}}],"stop_reason":"tool_use"}`, `f({"x":1})`},
		"anthropic, no start":       {"anthropic", sse, 200, event("message_start", `"message":{"usage":null}`) + event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"So."}`) + event("message_delta", `"delta":{"stop_reason":"end_turn"},"usage":null`) + event("message_stop", `"x":1`), "So."},
		"anthropic, foreign events": {"anthropic", sse, 200, "event: ping\ndata: ping\n\n" + event("x_metadata", `"a":1`) + event("content_block_start", `"index":0,"content_block":{"type":"text","text":"So."}`) + event("message_delta", `"delta":{"stop_reason":"end_turn"}`) + event("message_stop", `"x":1`), "So."},
		"anthropic, a pair in two":  {"anthropic", sse, 200, event("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`) + event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"\ud83d"}`) + event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"\ude80"}`) + event("message_delta", `"delta":{"stop_reason":"end_turn"}`) + event("message_stop", `"x":1`), "🚀"},
		"anthropic, bare error":     {"anthropic", sse, 200, `{"error":{"message":"no memory"}}` + "\n", "!no memory"},

		"ollama, whole":         {"ollama", plainJSON, 200, `{"message":{"content":"All at once."},"done":true,"done_reason":"stop"}`, "All at once."},
		"ollama, a pair in two": {"ollama", "application/x-ndjson", 200, `{"message":{"content":"\ud83d"}}` + "\n" + `{"message":{"content":"\ude80"}}` + "\n" + `{"done":true,"done_reason":"stop"}` + "\n", "🚀"},
		"ollama, as events":     {"ollama", "application/x-ndjson", 200, ": ping\n\ndata: {\"message\":{\"content\":\"So.\"}}\n\ndata: {\"done\":true}\n\n", "So."},
		"ollama, an error":      {"ollama", plainJSON, 500, `{"error":"model requires more system memory"}`, "!It says: model requires more system memory"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // a client may leave
				w.Header().Set("Content-Type", c.media)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			got := told(t, c.api, server.URL)
			text, failed, _ := strings.Cut(got, "!")
			wantText, wantFailed, fails := strings.Cut(c.want, "!")
			if fails && (text != wantText || !strings.Contains(failed, wantFailed) || failed == "") || !fails && got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func event(name, fields string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,%s}\n\n", name, name, fields)
}

func completed(text string) string {
	return event("response.completed", `"response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":`+text+`}]}]}`)
}

// told asks a model and returns its text, its calls and, behind a !, what went wrong.
func told(t *testing.T, api, address string) string {
	t.Helper()
	m := config.Model{Name: "m", Provider: "openai", BaseURL: address + "/v1", Model: "m", ContextTokens: 8192}
	switch api {
	case "chat", "responses":
		m.API = config.API(api)
	default:
		m.Provider, m.BaseURL = provider.Name(api), address
	}
	models, err := catalog.New(catalog.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer models.Close()
	model, err := models.Draft(anOperator, m)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	args := map[int]*strings.Builder{}
	for ev, err := range model.Stream(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "?"}},
		Tools: []llm.ToolDef{{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)}}}) {
		if err != nil {
			var known *llm.Error
			if !errors.As(err, &known) {
				t.Fatal(err)
			}
			text.WriteString("!" + known.Message)
			continue
		}
		switch ev := ev.(type) {
		case llm.Text:
			text.WriteString(ev.Delta)
		case llm.ToolCallDelta:
			if args[ev.Index] == nil {
				args[ev.Index] = &strings.Builder{}
				args[ev.Index].WriteString(ev.Name + "(")
			}
			args[ev.Index].WriteString(ev.ArgumentsDelta)
		}
	}
	for i := range len(args) {
		text.WriteString(args[i].String() + ")")
	}
	return text.String()
}
