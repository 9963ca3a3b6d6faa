package pdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

type listedTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// listJSON answers list_tools.
func listJSON() ([]byte, error) {
	list := make([]listedTool, len(tools))
	for i, t := range tools {
		list[i] = listedTool{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema}
	}
	return json.Marshal(map[string]any{"tools": list})
}

type callInput struct {
	Request struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"request"`
	Context struct {
		ID   string `json:"id"`
		Meta struct {
			Refs      Refs           `json:"bulkhead/refs"`
			Now       time.Time      `json:"bulkhead/now"`
			Query     string         `json:"bulkhead/query"`
			History   []Message      `json:"bulkhead/history"`
			User      User           `json:"bulkhead/user"`
			Citations map[string]int `json:"bulkhead/citations"`
		} `json:"_meta"`
	} `json:"context"`
}

type callOutput struct {
	Content    []Content       `json:"content"`
	IsError    bool            `json:"isError,omitempty"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
	Meta       map[string]any  `json:"_meta,omitempty"`
}

// callJSON answers call_tool.
func callJSON(input []byte) ([]byte, error) {
	var in callInput
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("read the call: %w", err)
	}
	meta := in.Context.Meta
	c := &Call{
		Tool: in.Request.Name, Arguments: in.Request.Arguments,
		Context: Context{in.Context.ID, meta.Refs, meta.Now, meta.Query, meta.History, meta.User, meta.Citations},
	}
	if len(c.Arguments) == 0 {
		c.Arguments = json.RawMessage("{}")
	}
	r := run(c)
	out := callOutput{Content: r.Content, IsError: r.IsError, Structured: r.Structured, Meta: map[string]any{}}
	if out.Content == nil {
		out.Content = []Content{}
	}
	if len(c.documents) > 0 {
		out.Meta["bulkhead/documents"] = c.documents
	}
	if len(r.Files) > 0 {
		out.Meta["bulkhead/files"] = r.Files
	}
	return json.Marshal(out)
}

// run serves the call; an error and a panic of the handler become failures.
func run(c *Call) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = Fail(fmt.Sprintf("The tool %s failed: %v.", c.Tool, p))
		}
	}()
	t, known := find(c.Tool)
	if !known {
		names := make([]string, len(tools))
		for i, t := range tools {
			names[i] = t.Name
		}
		return Fail(fmt.Sprintf("There is no tool %q here; there are %s.", c.Tool, strings.Join(names, ", ")))
	}
	r, err := t.Handle(c)
	if err != nil {
		return Fail(err.Error())
	}
	return r
}

// decodeArguments reads arguments strictly.
func decodeArguments[A any](data json.RawMessage) (A, error) {
	var args A
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&args); err != nil {
		return args, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return args, errors.New("there is more after the object")
	}
	return args, nil
}
