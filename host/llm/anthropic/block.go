package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// block is one content block of an answer as it came.
type block struct {
	kind string
	// raw is the block as it began.
	raw json.RawMessage
	// text is that of a text or thinking block; input the JSON text of a call.
	text, input strings.Builder
	signature   strings.Builder
	// citations are those of a text block, each as it came.
	citations []json.RawMessage
	id, name  string
	// number is our index of a call.
	number int
}

// json is the block as it is sent back, nil for one that cannot be.
func (b *block) json() json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(b.raw, &fields) != nil || fields == nil {
		return nil
	}
	set := func(name string, value any) {
		if data, err := json.Marshal(value); err == nil {
			fields[name] = data
		}
	}
	switch b.kind {
	case "text":
		if strings.TrimSpace(b.text.String()) == "" {
			return nil
		}
		set("text", b.text.String())
		delete(fields, "citations")
		if len(b.citations) > 0 {
			set("citations", b.citations)
		}
	case "thinking":
		if b.signature.Len() == 0 {
			return nil // unsigned thinking is refused
		}
		set("thinking", b.text.String())
		set("signature", b.signature.String())
	case "tool_use", "server_tool_use":
		if b.input.Len() > 0 {
			fields["input"] = llm.ArgumentsObject(b.input.String())
		}
	}
	data, err := json.Marshal(fields)
	if err != nil { // what was decoded encodes
		return nil
	}
	return data
}

// replayed are the blocks of a paused answer as they are sent back.
func replayed(blocks []*block) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	for _, b := range blocks {
		if data := b.json(); data != nil {
			out = append(out, param.Override[sdk.ContentBlockParamUnion](data))
		}
	}
	return out
}

// kept is what a Native of this adapter holds.
type kept struct {
	// Blocks are the answer's, without the calls: those are history's.
	Blocks []json.RawMessage `json:"blocks"`
	// Text is the answer's text as the adapter emitted it.
	Text string `json:"text"`
}

// keep makes the Native of an answer: nil where there is nothing but plain text.
func (m *Model) keep(blocks []*block, text string) *llm.Native {
	k := kept{Text: text}
	plain := true
	for _, b := range blocks {
		if data := b.json(); data != nil && b.kind != "tool_use" {
			k.Blocks = append(k.Blocks, data)
			plain = plain && b.kind == "text" && len(b.citations) == 0
		}
	}
	if plain {
		return nil
	}
	data, err := json.Marshal(k)
	if err != nil { // what was encoded once encodes
		return nil
	}
	return &llm.Native{Provider: Provider, Model: m.cfg.Model, Data: data}
}

// own returns the text of an answer of the history, with the model's own blocks
// where it said them. A text that is not the blocks' own any more replaces theirs.
func (m *Model) own(msg llm.Message) []sdk.ContentBlockParamUnion {
	var k kept
	if !msg.Native.Of(Provider, m.cfg.Model) || json.Unmarshal(msg.Native.Data, &k) != nil {
		return texts(msg.Text)
	}
	same := strings.TrimSpace(k.Text) == strings.TrimSpace(msg.Text)
	var out []sdk.ContentBlockParamUnion
	for _, raw := range k.Blocks {
		var b struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &b) != nil || !same && b.Type == "text" {
			continue
		}
		out = append(out, param.Override[sdk.ContentBlockParamUnion](raw))
	}
	if !same {
		out = append(out, texts(msg.Text)...)
	}
	return out
}
