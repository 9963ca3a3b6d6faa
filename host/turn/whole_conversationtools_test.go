package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

// scripted is a tool that does one thing.
type scripted struct {
	spec tool.Spec
	call func(context.Context, tool.Invocation) (tool.Result, error)
}

func (s scripted) Spec() tool.Spec { return s.spec }
func (s scripted) Call(ctx context.Context, in tool.Invocation) (tool.Result, error) {
	return s.call(ctx, in)
}

// limitedSearch is a search that takes a limit too.
func limitedSearch() *search {
	s := newSearch()
	s.spec.Name = "limited_search"
	s.spec.InputSchema = schema(`"queries":{"type":"array","items":{"type":"string"}},"limit":{"type":"integer"}`, "queries")
	return s
}

// conversationTools are the tools that conversations may name.
var conversationTools = []tool.Tool{
	newSearch(), limitedSearch(), clockTool{}, noteTool{},
	scripted{tool.Spec{Name: "panics", Title: "Panics"},
		func(context.Context, tool.Invocation) (tool.Result, error) { panic("boom") }},
	scripted{tool.Spec{Name: "errs", Title: "Errs"}, func(context.Context, tool.Invocation) (tool.Result, error) {
		return tool.Result{}, errors.New("a secret of the host")
	}},
	scripted{tool.Spec{Name: "fails", Title: "Fails", InputSchema: schema(`"kind":{"type":"string"}`, "kind")},
		func(_ context.Context, in tool.Invocation) (tool.Result, error) {
			var args struct{ Kind tool.FailureKind }
			if err := json.Unmarshal(in.Arguments, &args); err != nil {
				return tool.Result{}, err
			}
			return tool.Fail(args.Kind, "It went wrong.", "It went wrong; try something else."), nil
		}},
	scripted{tool.Spec{Name: "huge", Title: "Huge"}, func(context.Context, tool.Invocation) (tool.Result, error) {
		return tool.Result{Text: strings.Repeat("0123456789", 20_000)}, nil
	}},
	scripted{tool.Spec{Name: "reads", Title: "Reads", InputSchema: schema(`"lines":{"type":"integer"}`, "lines")},
		func(_ context.Context, in tool.Invocation) (tool.Result, error) {
			var args struct{ Lines int }
			if err := json.Unmarshal(in.Arguments, &args); err != nil {
				return tool.Result{}, err
			}
			var b strings.Builder
			for i := range args.Lines {
				fmt.Fprintf(&b, "Line %d of the log.\n", i)
			}
			return tool.Result{Text: b.String()}, nil
		}},
	scripted{tool.Spec{Name: "wordy", Title: "Wordy", Description: strings.Repeat("Says a word. ", 150)},
		func(context.Context, tool.Invocation) (tool.Result, error) {
			return tool.Result{Text: "word"}, nil
		}},
	scripted{tool.Spec{Name: "silent", Title: "Silent"},
		func(context.Context, tool.Invocation) (tool.Result, error) { return tool.Result{}, nil }},
	scripted{tool.Spec{Name: "garbled", Title: "Garbled"}, func(context.Context, tool.Invocation) (tool.Result, error) {
		return tool.Result{Text: "a\xff\xfe\x00b", Structured: json.RawMessage(`{"no json`)}, nil
	}},
	scripted{tool.Spec{Name: "final", Title: "Final", StopsLoop: true},
		func(context.Context, tool.Invocation) (tool.Result, error) {
			return tool.Result{Text: "That was all."}, nil
		}},
	scripted{tool.Spec{Name: "reminds", Title: "Reminds", Reminder: "Cite what you found."},
		func(context.Context, tool.Invocation) (tool.Result, error) {
			return tool.Result{Text: "Found."}, nil
		}},
	scripted{tool.Spec{Name: "liar", Title: "Liar", Cites: true},
		func(_ context.Context, in tool.Invocation) (tool.Result, error) {
			return tool.Result{Text: "See 1 and 999.", Documents: []tool.Document{
				{ID: "mine", Ref: in.Refs.Start, Title: "Mine", Source: "liar"},
				{ID: "not mine", Ref: 999, Title: "Not mine", Source: "liar"},
			}}, nil
		}},
	scripted{tool.Spec{Name: "same", Title: "Same", Cites: true},
		func(_ context.Context, in tool.Invocation) (tool.Result, error) {
			return tool.Result{Text: fmt.Sprintf("See %d.", in.Refs.Start),
				Documents: []tool.Document{{ID: "one", Ref: in.Refs.Start, Title: "One", Source: "same"}}}, nil
		}},
	scripted{tool.Spec{Name: "typed", Title: "Typed",
		InputSchema: schema(`"n":{"type":"integer"},"when":{"type":"string","enum":["now","later"]},"tags":{"type":"array","items":{"type":"string"}}`, "n")},
		func(_ context.Context, in tool.Invocation) (tool.Result, error) {
			return tool.Result{Text: string(in.Arguments)}, nil
		}},
	scripted{tool.Spec{Name: "shows", Title: "Shows"},
		func(_ context.Context, in tool.Invocation) (tool.Result, error) {
			half := 0.5
			in.Report.Progress("half way", &half)
			in.Report.Output("stdout", "line\n")
			in.Report.Output("nonsense", "as text")
			return tool.Result{Text: "shown", Fuel: 7,
				HostCalls: []tool.HostCall{{Capability: "kv", Summary: "read k", Decision: "allow", Bytes: 3}},
				Files:     []tool.File{{ID: "f_1", Name: "a.txt", MediaType: "text/plain", Size: 3}}}, nil
		}},
	scripted{tool.Spec{Name: "waits", Title: "Waits"},
		func(ctx context.Context, in tool.Invocation) (tool.Result, error) {
			in.Report.Progress("waiting", nil)
			<-ctx.Done()
			return tool.Fail(tool.FailureFailed, "Stopped.", "stopped"), nil
		}},
	scripted{tool.Spec{Name: "sends", Title: "Sends", Labels: []string{tool.LabelWrites}},
		func(context.Context, tool.Invocation) (tool.Result, error) {
			return tool.Result{Text: "Sent."}, nil
		}},
}

func schema(properties, required string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":["` + required + `"]}`)
}

// manyTools are sixty tools of ten services.
func manyTools() (tools []tool.Tool) {
	for _, service := range []string{"calendar", "mail", "tickets", "wiki", "builds", "invoices", "contacts", "rooms",
		"weather", "archive"} {
		for _, action := range []string{"list", "read", "create", "change", "remove", "share"} {
			name := service + "_" + action
			tools = append(tools, scripted{
				tool.Spec{Name: name, Title: name,
					Description: "Lets you " + action + " an entry of the " + service + ".",
					InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, tool.Invocation) (tool.Result, error) {
					return tool.Result{Text: name + " is done."}, nil
				}})
		}
	}
	return tools
}
