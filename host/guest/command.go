package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// stdinText is the argument that a tool with stdin text reads as its stdin.
const stdinText = "text"

// maxArgv is how many bytes the arguments of a program may have together.
const maxArgv = 1 << 20

// blank is a place in argv for an argument of the tool.
var blank = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// commandTools are the tools that the manifest makes of a WASI program. It returns an
// *Error of kind BadTools.
func commandTools(m capability.Manifest) ([]Listed, error) {
	list := struct {
		Tools []Listed `json:"tools"`
	}{}
	for _, name := range slices.Sorted(maps.Keys(m.Tools)) {
		e := m.Tools[name].WASI
		if e == nil {
			continue
		}
		description := e.Description
		if description == "" {
			description = m.Description
		}
		schema, err := commandSchema(*e)
		if err != nil {
			return nil, fmt.Errorf("describe a tool of a command: %w", err)
		}
		list.Tools = append(list.Tools, Listed{Name: name, Title: e.Title, Description: description,
			InputSchema: schema})
	}
	if len(list.Tools) == 0 {
		return nil, &Error{Kind: BadTools, Message: "The module is a WASI command, and its manifest makes no tool of " +
			"it. " +
			`Give it a manifest with "protocol":"wasi-command" and, for each tool, "tools":{"name":{"wasi":{"argv":["program","{argument}"]}}}.`}
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("describe the tools of a command: %w", err)
	}
	return parseTools(data, 1) // the same bounds as for a module's own list
}

// commandSchema is the schema of a tool's arguments.
func commandSchema(e capability.WASIEntry) (json.RawMessage, error) {
	if len(e.InputSchema) > 0 {
		return e.InputSchema, nil
	}
	names := []string{}
	for _, arg := range e.Argv {
		for _, m := range blank.FindAllStringSubmatch(arg, -1) {
			names = append(names, m[1])
		}
	}
	if e.Stdin == stdinText {
		names = append(names, stdinText)
	}
	if len(names) == 0 {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	properties := map[string]any{}
	for _, name := range names {
		properties[name] = map[string]string{"type": "string"}
	}
	return json.Marshal(map[string]any{
		"type": "object", "properties": properties, "required": slices.Sorted(maps.Keys(properties)),
	})
}

// command runs the program for one call.
func (c Call) command(ctx context.Context, args json.RawMessage, call engine.Call) (tool.Result, engine.Outcome) {
	e := c.Manifest.Tool(c.Tool).WASI
	if e == nil {
		return c.failed(ctx, fmt.Errorf("the manifest does not say how %q is run", c.Tool)), engine.Outcome{}
	}
	argv, stdin, err := commandLine(*e, args)
	if err != nil {
		refused := tool.Fail(tool.FailureInput,
			fmt.Sprintf("%s got arguments that it cannot use: %v.", c.Title, err),
			fmt.Sprintf("The arguments of %s cannot be used: %v. Write them as its schema says.", c.Exposed, err))
		return refused, engine.Outcome{}
	}
	out, err := c.Module.Run(ctx, engine.Command{
		Args: argv, Stdin: stdin, Mounts: call.Mounts,
		Config: call.Config, Host: call.Host, HTTP: call.HTTP, Log: call.Log, Limits: call.Limits,
	})
	if err != nil {
		return c.failed(ctx, err), out.Outcome
	}
	ok := e.OKExitCodes
	if ok == nil {
		ok = []int{0}
	}
	if !slices.Contains(ok, int(out.Code)) {
		return c.exited(out), out.Outcome
	}
	return c.printed(out.Output, e.Stdout == "json"), out.Outcome
}

// commandLine makes the program's arguments and its stdin of a call's arguments.
func commandLine(e capability.WASIEntry, args json.RawMessage) (argv []string, stdin []byte, err error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(args, &values); err != nil {
		return nil, nil, fmt.Errorf("they are not a JSON object")
	}
	known, err := commandArguments(e)
	if err != nil {
		return nil, nil, err
	}
	size := 0
	for _, arg := range e.Argv {
		filled, err := fill(arg, values, known)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range filled {
			if strings.ContainsRune(s, 0) {
				return nil, nil, fmt.Errorf("an argument has a zero byte")
			}
			size += len(s) + 1
		}
		argv = append(argv, filled...)
	}
	if size > maxArgv {
		return nil, nil, fmt.Errorf("they have more than %d bytes", maxArgv)
	}
	switch e.Stdin {
	case "arguments":
		stdin = args
	case stdinText:
		text, _, err := scalar(stdinText, values[stdinText])
		if err != nil {
			return nil, nil, err
		}
		stdin = []byte(text)
	}
	return argv, stdin, nil
}

// commandArguments are the names that a place in argv may have. Others are no places: a
// program's own language may use braces.
func commandArguments(e capability.WASIEntry) (map[string]bool, error) {
	schema, err := commandSchema(e)
	if err != nil {
		return nil, err
	}
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("the schema in the manifest cannot be read")
	}
	known := map[string]bool{}
	for name := range s.Properties {
		known[name] = true
	}
	return known, nil
}

// fill puts arguments into one entry of argv: several entries for a list, none where an
// argument is missing.
func fill(arg string, values map[string]json.RawMessage, known map[string]bool) ([]string, error) {
	if m := blank.FindStringSubmatch(arg); m != nil && m[0] == arg && known[m[1]] {
		var list []json.RawMessage
		if json.Unmarshal(values[m[1]], &list) == nil && list != nil {
			out := make([]string, len(list))
			for i, v := range list {
				var err error
				if out[i], _, err = scalar(m[1], v); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
	}
	missing := false
	var wrong error
	filled := blank.ReplaceAllStringFunc(arg, func(place string) string {
		name := place[1 : len(place)-1]
		if !known[name] {
			return place
		}
		text, there, err := scalar(name, values[name])
		missing = missing || !there
		if err != nil && wrong == nil {
			wrong = err
		}
		return text
	})
	if wrong != nil || missing {
		return nil, wrong
	}
	return []string{filled}, nil
}

// scalar writes an argument as text: a string as it is, other values as JSON.
func scalar(name string, value json.RawMessage) (text string, there bool, err error) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || bytes.Equal(value, []byte("null")) {
		return "", false, nil
	}
	if value[0] != '"' {
		return string(value), true, nil
	}
	if err := json.Unmarshal(value, &text); err != nil {
		return "", false, fmt.Errorf("%s is not a string that can be read", name)
	}
	return text, true, nil
}

// exited is the result of a program that ended with a code that is no success.
func (c Call) exited(out engine.CommandOutcome) tool.Result {
	said := strings.TrimSpace(strings.ToValidUTF8(string(out.Stderr), "\uFFFD"))
	if said == "" {
		said = strings.TrimSpace(strings.ToValidUTF8(string(out.Output[max(0, len(out.Output)-maxSaidBytes):]),
			"\uFFFD"))
	}
	text := fmt.Sprintf("The program ended with the exit code %d and said nothing.", out.Code)
	if said != "" {
		text = fmt.Sprintf("The program ended with the exit code %d: %s", out.Code, said)
	}
	return c.reported(text)
}

// maxSaidBytes is how much of a failed program's output is passed on where it wrote
// nothing to stderr.
const maxSaidBytes = 4 << 10

// printed is the result of a program that succeeded.
func (c Call) printed(stdout []byte, isJSON bool) tool.Result {
	if !isJSON {
		return tool.Result{Text: strings.ToValidUTF8(string(stdout), "\uFFFD")}
	}
	data := bytes.TrimSpace(stdout)
	if !utf8.Valid(data) || !json.Valid(data) {
		c.Logger.Warn("a program printed what is not JSON", "plugin", c.Manifest.Name, "tool", c.Tool)
		return tool.Fail(tool.FailureFailed,
			fmt.Sprintf("%s printed something that is not JSON, which its manifest promises. "+
				"Its author has to mend that.", c.Title),
			fmt.Sprintf("The tool %s printed invalid JSON instead of a result. "+
				"Try other arguments, or go on without it.", c.Exposed))
	}
	return tool.Result{Text: string(data), Structured: data}
}
