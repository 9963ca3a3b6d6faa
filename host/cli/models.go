package cli

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// ListModels lists the models that a person can pick.
func ListModels(ctx context.Context, o Options, c *Client) error {
	var reply struct {
		Models  []llm.Info `json:"models"`
		Default string     `json:"default"`
	}
	if err := c.call(ctx, http.MethodGet, "/models", nil, &reply); err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(o.Out, reply)
	}
	return table(o.Out, "NAME\tPROVIDER\tMODEL\tNOTE", func(w io.Writer) {
		for _, m := range reply.Models {
			note := m.Note
			if m.Name == reply.Default {
				note = "default. " + note
			}
			printf(w, "%s\t%s\t%s\t%s\n", m.Name, m.Provider, m.Model, note)
		}
	})
}

// abi is the version of the plugin interface that this host serves.
const abi = "tools.v2, tools.v1 (Extism)"

// Version prints what this binary is made of.
func Version(o Options) error {
	wazero := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/tetratelabs/wazero" {
				wazero = dep.Version
			}
		}
	}
	if o.JSON {
		return writeJSON(o.Out, map[string]string{"version": o.Version, "go": runtime.Version(), "wazero": wazero, "abi": abi})
	}
	printf(o.Out, "bulkhead %s\ngo       %s\nwazero   %s\nabi      %s\n", o.Version, runtime.Version(), wazero, abi)
	return nil
}
