package step

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// salvageOptions tells the fallback parser what the model was told.
func (in Input) salvageOptions() salvage.Options {
	o := salvage.Options{
		ReasoningOpen: in.ReasoningOpen,
		Required:      in.Request.Choice == llm.ChoiceRequired,
		None:          in.Request.Choice == llm.ChoiceNone,
	}
	offered := in.Request.Tools
	if o.None { // a model may call them all the same
		offered = in.Request.Withheld
	}
	for _, t := range offered {
		o.Tools = append(o.Tools, salvage.Tool{
			Name: t.Name, Parameters: t.Parameters,
			StreamArgs: in.Blocks != nil && in.Blocks.Streams(t.Name),
			Exact:      in.Blocks != nil && in.Blocks.Writes(t.Name),
		})
	}
	return o
}

// takeDrafts takes the calls with which the reasoning of a step ends that brought nothing
// else: some models call before they close their reasoning, or have it in a field of its
// own and never leave it.
func (d *decoder) takeDrafts() {
	if len(d.heard) > 0 || d.malformed > 0 || strings.TrimSpace(d.text.String()) != "" ||
		d.finished != llm.FinishStop || d.in.Request.Choice == llm.ChoiceNone {
		return
	}
	for _, c := range salvage.Drafts(d.reasoning.String(), d.in.salvageOptions().Tools) {
		d.textCallIs(c)
	}
}

// named gives a native call the name of the tool that is nearly called so: quantised
// models make mistakes in the tool-call channel too. Its arguments stay as the model wrote
// them, and are fitted when the call is run.
func (d *decoder) named(c Call) Call {
	var names []string
	for _, t := range d.in.Request.Tools {
		names = append(names, t.Name)
	}
	if meant, ok := salvage.Resolve(names, c.Name); ok {
		c.Name = meant
	}
	return c
}

// fitted is a native call with its arguments as far as they can be mended, to compare it
// with one in the text.
func (d *decoder) fitted(c Call) Call {
	for _, t := range d.in.Request.Tools {
		if t.Name != c.Name || c.Arguments == "" {
			continue
		}
		if f, err := salvage.Fit(salvage.Tool{Name: t.Name, Parameters: t.Parameters}, c.Arguments); err == nil {
			c.Arguments = f.Arguments
		}
	}
	return c
}

// same tells whether two calls have the same name and, as JSON, the same
// arguments.
func (c Call) same(other Call) bool {
	return c.Name == other.Name && bytes.Equal(canonical(c.Arguments), canonical(other.Arguments))
}

// canonical writes JSON with sorted keys and without whitespace. What is no JSON
// stays as it is.
func canonical(arguments string) []byte {
	if arguments == "" {
		arguments = "{}"
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(arguments)))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return []byte(arguments)
	}
	data, err := json.Marshal(v)
	if err != nil { // what was decoded encodes
		return []byte(arguments)
	}
	return data
}
