package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"unicode"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// Target is an address at which a model server may be found.
type Target struct {
	// Kind is the server's name, for people.
	Kind string
	// BaseURL is its OpenAI-compatible address, ending in /v1.
	BaseURL string
	// Provider is how its models are asked; "" stands for openai.
	Provider provider.Name
}

// DefaultTargets are the two addresses that the host looks at.
func DefaultTargets() []Target {
	return []Target{
		{"Ollama", provider.BaseURL(provider.Ollama) + kinds[provider.Ollama].listedBelow, provider.Ollama},
		{"llama.cpp", "http://127.0.0.1:8080/v1", provider.OpenAI},
	}
}

const (
	// maxListBytes bounds the reply of a server that lists its models.
	maxListBytes = 1 << 20
	// maxFound bounds the models taken from one server.
	maxFound = 64
	// maxNameBytes bounds a model's name.
	maxNameBytes = 200
)

// StatusError is returned when a server answers with a status that is not 200.
type StatusError struct{ Status int }

// Error implements error.
func (e *StatusError) Error() string { return fmt.Sprintf("status %d", e.Status) }

// sighting is what one target offers.
type sighting struct {
	target Target
	models []string
}

// look asks all targets at once and returns what they said, in their order.
func (c *Catalog) look(ctx context.Context) []sighting {
	found := make([]sighting, len(c.cfg.Targets))
	var wait sync.WaitGroup
	for i, target := range c.cfg.Targets {
		wait.Go(func() {
			models, err := c.ask(ctx, target)
			if err != nil {
				c.cfg.Logger.Debug("no model server", "kind", target.Kind, "reason", err.Error())
			}
			found[i] = sighting{target, models}
		})
	}
	wait.Wait()
	return found
}

// ask lists the models of one target: one GET, no credential, no redirect.
func (c *Catalog) ask(ctx context.Context, target Target) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ProbeTimeout)
	defer cancel()
	return c.list(ctx, target.Provider, target.BaseURL, llm.Key{})
}

// list asks a server of a provider for the models that it has.
func (c *Catalog) list(ctx context.Context, of provider.Name, baseURL string, apiKey llm.Key) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/models", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "bulkhead")
	req.Header.Set("Accept", "application/json")
	if sign := kinds[of].sign; sign != nil {
		sign(req.Header, apiKey)
	} else if !apiKey.IsZero() {
		req.Header.Set("Authorization", "Bearer "+apiKey.Reveal())
	}
	res, err := c.client(baseURL).Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, &StatusError{res.StatusCode}
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxListBytes))
	if err != nil {
		return nil, err
	}
	return parseList(data)
}

// parseList reads the reply of GET /v1/models. Models that only embed or rank
// are left out, and so are names that could not be shown.
func parseList(data []byte) ([]string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("not a list of models: %w", err)
	}
	var names []string
	for _, entry := range list.Data {
		if usable(entry.ID) && len(names) < maxFound {
			names = append(names, entry.ID)
		}
	}
	return names, nil
}

func usable(name string) bool {
	if strings.TrimSpace(name) == "" || len(name) > maxNameBytes ||
		strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return false
	}
	lower := strings.ToLower(name)
	return !strings.Contains(lower, "embed") && !strings.Contains(lower, "rerank")
}

// merge makes the list of found models: those known keep their value, those
// that are configured already are left out, and names are made unique.
func (c *Catalog) merge(found []sighting) []probed {
	taken := map[string]bool{c.builtin.Info().Name: true}
	known := map[string]bool{}
	for _, m := range c.configured {
		taken[m.Info().Name] = true
	}
	for _, m := range c.cfg.Models {
		known[keyOf(m)] = true
	}
	for _, a := range c.added {
		taken[a.config.Name], known[a.key()] = true, true
	}
	var out []probed
	for _, s := range found {
		for _, model := range s.models {
			k := key(s.target.BaseURL, model)
			name := shownName(model)
			if taken[name] {
				name += " (" + s.target.Kind + ")"
			}
			if known[k] || taken[name] {
				continue
			}
			if p, err := c.found(s.target, k, name, model); err == nil {
				out, taken[name], known[k] = append(out, p), true, true
			} else {
				c.cfg.Logger.Warn("a model that was found cannot be used", "model", model, "reason", err.Error())
			}
		}
	}
	return out
}

// found returns the model of an earlier look, or a new one.
func (c *Catalog) found(target Target, k, name, model string) (probed, error) {
	for _, p := range c.probed {
		if p.key == k && p.Info().Name == name {
			return p, nil
		}
	}
	address := strings.TrimPrefix(key(target.BaseURL, ""), "//")
	c.cfg.Logger.Info("found a model", "model", name, "at", address)
	m, err := c.adapter(config.Model{Name: name, Provider: cmp.Or(target.Provider, provider.OpenAI),
		BaseURL: target.BaseURL, Model: model})
	if err != nil {
		return probed{}, err
	}
	return probed{Model: noted{m, fmt.Sprintf("Found on this machine (%s).", target.Kind)}, key: k, target: target}, nil
}

// noted is a model with a note of its own.
type noted struct {
	llm.Model
	note string
}

// Info implements llm.Model.
func (n noted) Info() llm.Info {
	info := n.Model.Info()
	info.Note = n.note
	return info
}

// Prepare implements llm.Preparer.
func (n noted) Prepare(ctx context.Context) error { return llm.Prepare(ctx, n.Model) }

// Forget implements llm.Forgetter.
func (n noted) Forget() { llm.Forget(n.Model) }

// shownName is the model's name; a server that names a file by its path, as
// llama.cpp does, shows the file's name without its ending.
func shownName(model string) string {
	if strings.HasSuffix(model, ".gguf") {
		return strings.TrimSuffix(path.Base(strings.ReplaceAll(model, `\`, "/")), ".gguf")
	}
	return model
}

// key identifies a model by the server's address and its name there; the names
// of this machine count as one.
func key(base, model string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base + " " + model
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		host = "127.0.0.1"
	}
	return strings.TrimSpace("//" + net.JoinHostPort(host, u.Port()) + " " + model)
}
