package openai

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// reasoningField is the name under which endpoints that want reasoning back want
// it.
const reasoningField = "reasoning_content"

// reasoning reads the two names that reasoning goes by; an endpoint that sends
// both sends the same text twice.
func reasoning(extra map[string]respjson.Field) string {
	for _, name := range []string{reasoningField, "reasoning"} {
		if text := textOf(extra[name].Raw()); text != "" {
			return text
		}
	}
	return ""
}

// kept is what a Native of a chat completion holds.
type kept struct {
	Reasoning string `json:"reasoning_content"`
}

// keep makes the Native of a step with calls, nil where there was no reasoning.
func (m *Model) keep(reasoning string) *llm.Native {
	if reasoning == "" {
		return nil
	}
	data, err := json.Marshal(kept{reasoning})
	if err != nil { // a string always encodes
		return nil
	}
	return &llm.Native{Provider: m.cfg.Provider, Model: m.cfg.Model, Data: data}
}

// reasoned returns the reasoning that came with a message, "" for none.
func (m *Model) reasoned(msg llm.Message) string {
	var k kept
	if !msg.Native.Of(m.cfg.Provider, m.cfg.Model) || json.Unmarshal(msg.Native.Data, &k) != nil {
		return ""
	}
	return k.Reasoning
}

// textOf returns a JSON string's text, or the texts of a list of content parts
// that are of the kind text or thinking; "" for anything else.
func textOf(raw string) string {
	var text string
	if json.Unmarshal([]byte(raw), &text) == nil {
		return text
	}
	said, _ := partsOf(raw)
	return said
}

// partsOf parts a list of content parts into what is said and what is thought.
func partsOf(raw string) (said, thought string) {
	var parts []struct {
		Type     string          `json:"type"`
		Text     json.RawMessage `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if !strings.HasPrefix(raw, "[") || json.Unmarshal([]byte(raw), &parts) != nil {
		return "", ""
	}
	for _, p := range parts {
		if p.Type == "thinking" {
			thought += textOf(string(p.Thinking)) + textOf(string(p.Text))
		} else {
			said += textOf(string(p.Text))
		}
	}
	return said, thought
}

// shortID makes nine letters and digits of an id, the same ones each time.
func shortID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base32.StdEncoding.EncodeToString(sum[:])[:9]
}
