package step

import (
	"bytes"
	"encoding/json"

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
	for _, t := range in.Request.Tools {
		o.Tools = append(o.Tools, salvage.Tool{
			Name: t.Name, Parameters: t.Parameters,
			StreamArgs: in.Blocks != nil && in.Blocks.Streams(t.Name),
		})
	}
	return o
}

// repaired mends the arguments of a native call as far as they can be: quantised
// models make mistakes in the tool-call channel too. What fits stays as the model
// wrote it. A name that is nearly that of a tool becomes it.
func (d *decoder) repaired(c Call) Call {
	var names []string
	for _, t := range d.in.Request.Tools {
		names = append(names, t.Name)
	}
	if meant, ok := salvage.Resolve(names, c.Name); ok {
		c.Name = meant
	}
	if c.Arguments == "" {
		return c
	}
	for _, t := range d.in.Request.Tools {
		if t.Name != c.Name {
			continue
		}
		if fitted, err := salvage.Fit(salvage.Tool{Name: t.Name, Parameters: t.Parameters}, c.Arguments); err == nil &&
			!c.same(Call{Name: c.Name, Arguments: fitted}) {
			c.Arguments = fitted
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
