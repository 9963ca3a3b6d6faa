package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/plugintool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
)

// Check says what plugin verify looks at.
type Check struct {
	// File is the module.
	File string
	// Reference compares it with the reference SDK.
	Reference bool
	// Arguments is a JSON object with the arguments of tools by their names, "" for
	// examples from their schemas.
	Arguments string
}

// VerifyPlugin checks a module file and writes what was found. The error says how much is
// wrong.
func VerifyPlugin(ctx context.Context, o Options, c Check) error {
	wasm, err := readModule(c.File)
	if err != nil {
		return err
	}
	arguments, err := argumentsByTool(c.Arguments)
	if err != nil {
		return err
	}
	return withEngine(ctx, o, func(e *engine.Engine) error {
		v, err := plugintool.Verify(ctx, e, wasm, plugintool.VerifyOptions{Reference: c.Reference,
			Arguments: arguments})
		if err != nil {
			return err
		}
		if o.JSON {
			if err := writeJSON(o.Out, v); err != nil {
				return err
			}
		} else {
			showVerification(o, v)
		}
		if v.Good() {
			return nil
		}
		wrong := len(v.Problems)
		for _, c := range v.Compared {
			wrong += len(c.Differences)
		}
		return fmt.Errorf("%s does not pass: %d found", c.File, wrong)
	})
}

func argumentsByTool(text string) (map[string]json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	var byTool map[string]json.RawMessage
	wrong := errors.New(`--args must be a JSON object with the arguments of each tool, such as {"greet":{"name":"Ada"}}`)
	if err := json.Unmarshal([]byte(text), &byTool); err != nil || byTool == nil {
		return nil, wrong
	}
	for _, args := range byTool {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(args, &object); err != nil || object == nil {
			return nil, wrong
		}
	}
	return byTool, nil
}

func showVerification(o Options, v plugintool.Verification) {
	manifest, signature := "none", "none"
	if v.Manifest != nil {
		manifest = "well formed"
	}
	if v.Signed {
		signature = "there, not checked"
	}
	printf(o.Out, "structure  valid, within the limits\nsha256     %s\nprotocol   %s\nmanifest   %s\nsignature  %s\n",
		v.SHA256, v.Protocol, manifest, signature)
	for _, name := range v.Tools {
		printf(o.Out, "tool       %s\n", name)
	}
	for _, c := range v.Compared {
		switch {
		case c.Unsteady:
			printf(o.Out, "unsteady   %s: two calls here differ already, so there is nothing to compare\n", c.Call)
		case len(c.Differences) == 0:
			printf(o.Out, "same       %s\n", called(c))
		}
		for _, d := range c.Differences {
			printf(o.Out, "differs    %s: %s\n", called(c), d)
		}
	}
	for _, w := range v.Warnings {
		printf(o.Out, "warning    %s\n", w)
	}
	for _, p := range v.Problems {
		printf(o.Out, "problem    %s\n", p)
	}
}

// called names a call with its arguments.
func called(c plugintool.Comparison) string {
	const most = 120
	args := []rune(string(c.Arguments))
	if len(args) > most {
		args = append(args[:most], '…')
	}
	if len(args) == 0 {
		return c.Call
	}
	return c.Call + " " + string(args)
}
