package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/trial"
)

// listedModel is a model as an operator sees it.
type listedModel struct {
	llm.Info
	Origin  string `json:"origin,omitempty"`
	BaseURL string `json:"base_url,omitempty"`
	HasKey  bool   `json:"has_key,omitempty"`
}

type modelList struct {
	Models  []listedModel `json:"models"`
	Default string        `json:"default"`
}

// ListModels lists the models that a person can pick.
func ListModels(ctx context.Context, o Options, c *Client) error {
	var reply modelList
	if err := c.call(ctx, http.MethodGet, "/models", nil, &reply); err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(o.Out, reply)
	}
	return table(o.Out, "NAME\tPROVIDER\tMODEL\tFROM\tNOTE", func(w io.Writer) {
		for _, m := range reply.Models {
			note := m.Note
			if m.Name == reply.Default {
				note = strings.TrimSpace("default. " + note)
			}
			printf(w, "%s\t%s\t%s\t%s\t%s\n", m.Name, m.Provider, m.Model, m.Origin, note)
		}
	})
}

// NewModel describes a model to add.
type NewModel struct {
	Name          string `json:"name"`
	Provider      string `json:"provider,omitempty"`
	BaseURL       string `json:"base_url,omitempty"`
	Model         string `json:"model,omitempty"`
	APIKey        string `json:"api_key,omitempty"`
	ContextTokens int    `json:"context_tokens,omitempty"`
	NativeTools   string `json:"native_tools,omitempty"`
	config.Tuning
	Default bool `json:"default,omitempty"`
}

// maxKeyBytes bounds a key that is read from a stream.
const maxKeyBytes = 16 << 10

// ReadKey reads a key from a stream, without the line's end.
func ReadKey(in io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxKeyBytes+1))
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	if len(data) > maxKeyBytes {
		return "", errors.New("what came as the key is too long to be one")
	}
	return strings.TrimSpace(string(data)), nil
}

// AddModel adds a model that can be asked at once.
func AddModel(ctx context.Context, o Options, c *Client, m NewModel) error {
	var reply struct {
		Default string `json:"default"`
	}
	if err := c.call(ctx, http.MethodPost, "/models", m, &reply); err != nil {
		return err
	}
	printf(o.Err, "added %s; `bulkhead model test %s` tries it out\n", m.Name, m.Name)
	if reply.Default == m.Name {
		printf(o.Err, "new conversations begin with %s\n", m.Name)
	}
	return nil
}

// RemoveModel removes a model that was added.
func RemoveModel(ctx context.Context, o Options, c *Client, name string) error {
	if err := c.call(ctx, http.MethodDelete, "/models/"+pathEscape(name), nil, nil); err != nil {
		return err
	}
	printf(o.Err, "removed %s\n", name)
	return nil
}

// ChooseModel makes a model the default.
func ChooseModel(ctx context.Context, o Options, c *Client, name string) error {
	if err := c.call(ctx, http.MethodPut, "/models/default", NewModel{Name: name}, nil); err != nil {
		return err
	}
	printf(o.Err, "new conversations begin with %s\n", name)
	return nil
}

// TestModel asks a model one question and one that needs a tool, and says what
// works. It returns an error where no question can be answered.
func TestModel(ctx context.Context, o Options, c *Client, name string) error {
	var report trial.Report
	if err := c.call(ctx, http.MethodPost, "/models/test", NewModel{Name: name}, &report); err != nil {
		return err
	}
	if o.JSON {
		if err := writeJSON(o.Out, report); err != nil {
			return err
		}
	} else {
		for _, check := range report.Checks {
			printf(o.Out, "%-9s  %-8s  %s\n", check.Name, check.State, check.Message)
		}
	}
	if !report.Works {
		return fmt.Errorf("%s does not work yet", name)
	}
	return nil
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
		return writeJSON(o.Out, map[string]string{"version": o.Version, "go": runtime.Version(), "wazero": wazero,
			"abi": abi})
	}
	printf(o.Out, "bulkhead %s\ngo       %s\nwazero   %s\nabi      %s\n", o.Version, runtime.Version(), wazero, abi)
	return nil
}
