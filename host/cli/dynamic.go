package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/api/rest"
)

// tellHeld says which plugins have tools that wait for somebody to look at them.
func tellHeld(o Options, plugins []rest.Plugin) {
	for _, p := range plugins {
		if len(p.Held) > 0 {
			printf(o.Err, "Held until somebody has looked at them: tools of %s. See them with: bulkhead plugin held "+
				"%s\n", p.Name, p.Name)
		}
	}
}

// findPlugin returns an installed plugin.
func findPlugin(ctx context.Context, c *Client, name string) (rest.Plugin, error) {
	var reply struct {
		Plugins []rest.Plugin `json:"plugins"`
	}
	if err := c.call(ctx, http.MethodGet, "/plugins", nil, &reply); err != nil {
		return rest.Plugin{}, err
	}
	for _, p := range reply.Plugins {
		if p.Name == name {
			return p, nil
		}
	}
	return rest.Plugin{}, fmt.Errorf("no plugin %q is installed; plugin list names those that are", name)
}

// HeldTools shows the tools of a plugin that are held, each beside what was seen of it. With
// a hash it offers those that were shown with that hash.
func HeldTools(ctx context.Context, o Options, c *Client, name, accept string) error {
	if accept != "" {
		body := map[string]string{"seen": accept}
		if err := c.call(ctx, http.MethodPost, "/plugins/"+pathEscape(name)+"/accept", body, nil); err != nil {
			return err
		}
		printf(o.Err, "The held tools of %s are offered now.\n", name)
		return nil
	}
	p, err := findPlugin(ctx, c, name)
	if err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(o.Out, struct {
			Held   []rest.HeldTool `json:"held"`
			Digest string          `json:"held_digest"`
		}{append([]rest.HeldTool{}, p.Held...), p.HeldDigest})
	}
	if len(p.Held) == 0 {
		printf(o.Err, "No tool of %s is held.\n", name)
		return nil
	}
	for _, h := range p.Held {
		if h.Before == nil {
			printf(o.Out, "%s is new.\n", h.Name)
		} else {
			printf(o.Out, "%s has changed. It was:\n", h.Name)
			showTool(o, *h.Before)
			printf(o.Out, "It would be:\n")
		}
		showTool(o, h)
	}
	printf(o.Err, "To offer them: bulkhead plugin held %s --accept %s\n", name, p.HeldDigest)
	return nil
}

// showTool writes what a model reads of a tool.
func showTool(o Options, h rest.HeldTool) {
	if h.Title != "" {
		printf(o.Out, "  title   %s\n", h.Title)
	}
	for line := range strings.Lines(h.Description) {
		printf(o.Out, "  text    %s\n", strings.TrimRight(line, "\n"))
	}
	printf(o.Out, "  input   %s\n", compact(h.InputSchema))
	if len(h.OutputSchema) > 0 {
		printf(o.Out, "  output  %s\n", compact(h.OutputSchema))
	}
}

// compact writes JSON in one line.
func compact(data json.RawMessage) string {
	out, err := json.Marshal(data)
	if err != nil {
		return string(data)
	}
	return string(out)
}

// ConfigurePlugin sets what a plugin reads as its configuration: KEY=VALUE sets a key, KEY=
// takes it away. Without settings it shows what there is.
func ConfigurePlugin(ctx context.Context, o Options, c *Client, name string, settings []string) error {
	change := map[string]*string{}
	for _, s := range settings {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return fmt.Errorf("%q sets nothing; write KEY=VALUE, or KEY= to take the key away", s)
		}
		if change[key] = &value; value == "" {
			change[key] = nil
		}
	}
	if len(change) > 0 {
		body := map[string]any{"config": change}
		if err := c.call(ctx, http.MethodPatch, "/plugins/"+pathEscape(name)+"/config", body, nil); err != nil {
			return err
		}
	}
	p, err := findPlugin(ctx, c, name)
	if err != nil {
		return err
	}
	defer tellHeld(o, []rest.Plugin{p})
	if o.JSON {
		return writeJSON(o.Out, map[string]any{"config": p.Config})
	}
	for _, key := range slices.Sorted(maps.Keys(p.Config)) {
		printf(o.Out, "%s=%s\n", key, p.Config[key])
	}
	return nil
}
