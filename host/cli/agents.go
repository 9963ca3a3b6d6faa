package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// agent is an agent as the host lists them.
type agent struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Instructions string `json:"instructions"`
	// Tools are identities, ToolNames what models call the tools by.
	Tools     []string `json:"tools"`
	ToolNames []string `json:"tool_names"`
	Model     string   `json:"model,omitempty"`
	MaxCycles int      `json:"max_cycles,omitempty"`
}

// NewAgent describes an agent to add.
type NewAgent struct {
	Name         string `json:"name"`
	Instructions string `json:"instructions"`
	// Tools are the names or the identities of its tools; nil for all.
	Tools []string `json:"tools"`
	// Model is "" for the default, MaxCycles 0 for the host's limit.
	Model     string `json:"model"`
	MaxCycles int    `json:"max_cycles"`
}

// ReadInstructions reads an agent's instructions from the file of that name, or
// from in where it is "-".
func ReadInstructions(name string, in io.Reader) (string, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", fmt.Errorf("read the instructions: %w", err)
		}
		defer file.Close() // it was only read
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, store.MaxInstructionBytes+1))
	if err != nil {
		return "", fmt.Errorf("read the instructions: %w", err)
	}
	if len(data) > store.MaxInstructionBytes {
		return "", fmt.Errorf("the instructions are longer than %d KiB", store.MaxInstructionBytes>>10)
	}
	return string(data), nil
}

// AddAgent adds an agent that messages can go to at once. It says which of its tools are
// not there yet: they may come with a plugin, or be a slip.
func AddAgent(ctx context.Context, o Options, c *Client, a NewAgent) error {
	if err := c.call(ctx, http.MethodPost, "/agents", a, nil); err != nil {
		return err
	}
	printf(o.Err, "added %s\n", a.Name)
	if len(a.Tools) == 0 {
		return nil
	}
	var reply struct {
		Tools []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := c.call(ctx, http.MethodGet, "/tools", nil, &reply); err != nil {
		return err
	}
	there := []string{llm.SearchTool}
	for _, name := range tool.OwnNames() {
		there = append(there, name, tool.OwnID(name))
	}
	for _, t := range reply.Tools {
		there = append(there, t.ID, t.Name)
	}
	for _, name := range a.Tools {
		if !slices.Contains(there, name) {
			printf(o.Err, "note: no plugin has a tool %s now; `bulkhead plugin list` names the tools\n", name)
		}
	}
	return nil
}

// ListAgents lists the agents.
func ListAgents(ctx context.Context, o Options, c *Client) error {
	agents, err := c.agents(ctx)
	if err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(o.Out, map[string]any{"agents": agents})
	}
	return table(o.Out, "NAME\tMODEL\tCYCLES\tTOOLS", func(w io.Writer) {
		for _, a := range agents {
			tools, model, cycles := "all", a.Model, "default"
			if a.Tools != nil {
				tools = strings.Join(a.ToolNames, ", ")
			}
			if a.Tools != nil && len(a.Tools) == 0 {
				tools = "none"
			}
			if model == "" {
				model = "default"
			}
			if a.MaxCycles > 0 {
				cycles = fmt.Sprint(a.MaxCycles)
			}
			printf(w, "%s\t%s\t%s\t%s\n", a.Name, model, cycles, tools)
		}
	})
}

// RemoveAgent removes an agent by name. Its answers stay.
func RemoveAgent(ctx context.Context, o Options, c *Client, name string) error {
	id, err := c.agentID(ctx, name)
	if err != nil {
		return err
	}
	if err := c.call(ctx, http.MethodDelete, "/agents/"+pathEscape(id), nil, nil); err != nil {
		return err
	}
	printf(o.Err, "removed %s\n", name)
	return nil
}

func (c *Client) agents(ctx context.Context) ([]agent, error) {
	var reply struct {
		Agents []agent `json:"agents"`
	}
	err := c.call(ctx, http.MethodGet, "/agents", nil, &reply)
	return reply.Agents, err
}

// agentID returns the id of the agent of that name, without regard to case, and ""
// for "".
func (c *Client) agentID(ctx context.Context, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	agents, err := c.agents(ctx)
	if err != nil {
		return "", err
	}
	for _, a := range agents {
		if strings.EqualFold(a.Name, strings.TrimSpace(name)) {
			return a.ID, nil
		}
	}
	return "", errors.New("there is no agent of that name; `bulkhead agent list` lists them")
}
