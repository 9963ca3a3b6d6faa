package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
)

// facts are what is known of a model. The zero value is nothing.
type facts struct {
	// asked tells that the server was asked, whatever it said; told that it said what
	// the model is able to.
	asked, told bool
	// limit is the window that the model was made with, preset the one that its file
	// sets, in tokens; 0 where unknown.
	limit, preset           int
	tools, vision, thinking bool
	// noTools, noThinking and noImages: the server refused them.
	noTools, noThinking, noImages bool
}

// refused is what a server turned out to refuse. The bits are stored: their meaning
// never changes.
type refused uint32

const (
	noTools refused = 1 << iota
	noThinking
	noImages
)

// known is what the server says of the model and what it showed since.
func (m *Model) known() facts {
	m.mu.RLock()
	defer m.mu.RUnlock()
	f, r := m.facts, refused(m.refused.Load())
	f.noTools, f.noThinking, f.noImages = r&noTools != 0, r&noThinking != 0, r&noImages != 0
	return f
}

// Forget implements llm.Forgetter.
func (m *Model) Forget() {
	m.mu.Lock()
	m.facts = facts{}
	m.mu.Unlock()
	m.learning.Lock()
	defer m.learning.Unlock()
	m.refused.Store(0)
}

// shown is the reply of /api/show as far as it is read.
type shown struct {
	// Capabilities is nil for servers that do not say; then Template tells of tools.
	Capabilities []string                   `json:"capabilities"`
	ModelInfo    map[string]json.RawMessage `json:"model_info"`
	Parameters   string                     `json:"parameters"`
	Template     string                     `json:"template"`
}

// maxFactsBytes bounds that reply: it holds the whole licence.
const maxFactsBytes = 8 << 20

// Prepare implements llm.Preparer: it asks the server once what the model is able
// to. A server that does not say is not asked again; one that is away is.
func (m *Model) Prepare(ctx context.Context) error {
	if m.known().asked {
		return nil
	}
	if err := m.asking.Enter(ctx); err != nil {
		return err
	}
	defer m.asking.Leave()
	if m.known().asked {
		return nil
	}
	body, err := json.Marshal(map[string]string{"model": m.cfg.Model})
	if err != nil { // a string always encodes
		return err
	}
	r, err := m.request(ctx, "/api/show", body)
	if err != nil {
		return err
	}
	data, err := m.end.Fetch(ctx, r, maxFactsBytes)
	var failed *llm.Error
	if err != nil && (!errors.As(err, &failed) || failed.Status == 0 || failed.Status == 404 || failed.Retryable) {
		return err // it may say later; a model can be pulled meanwhile
	}
	var s shown
	if err != nil || json.Unmarshal(data, &s) != nil {
		s = shown{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.facts.take(s)
	return nil
}

// take takes in what the server says.
func (f *facts) take(s shown) {
	f.asked = true
	for name, raw := range s.ModelInfo {
		if strings.HasSuffix(name, ".context_length") {
			f.limit = max(f.limit, tokens(string(raw)))
		}
	}
	for line := range strings.Lines(s.Parameters) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == "num_ctx" {
			f.preset = tokens(strings.TrimSpace(value))
		}
	}
	f.told = s.Capabilities != nil
	f.tools = slices.Contains(s.Capabilities, "tools") || !f.told && strings.Contains(s.Template, ".Tools")
	f.vision = slices.Contains(s.Capabilities, "vision")
	f.thinking = slices.Contains(s.Capabilities, "thinking")
}

// tokens reads a number that a server gave, 0 for one that cannot be.
func tokens(text string) int {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || n > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// window is the size that the server is told to use.
func (m *Model) window(f facts) int {
	n := m.cfg.ContextTokens
	if n == 0 {
		n = f.preset
	}
	if n == 0 {
		n = DefaultContextTokens
	}
	if f.limit > 0 {
		n = min(n, f.limit)
	}
	return n
}

// callsTools tells whether tools go through the model's own channel. A server that
// does not say what a model is able to is taken at its template.
func (m *Model) callsTools(f facts) bool {
	return m.cfg.Able.Tools.Or((f.tools || !f.asked) && !f.noTools)
}

func (m *Model) sees(f facts) bool { return m.cfg.Able.Vision.Or(f.vision) && !f.noImages }

// thinks returns what the server is told of thinking, nil for nothing.
func (m *Model) thinks(f facts) *bool {
	if f.noThinking || f.told && !f.thinking && m.cfg.Able.Reasoning != llm.Yes {
		return nil
	}
	if !f.told && (m.cfg.Able.Reasoning == "" || m.cfg.Able.Reasoning == llm.Auto) {
		return nil
	}
	think := m.cfg.Able.Reasoning.Or(true)
	return &think
}

// learn reads a refusal and tells whether it taught something that the request
// can do without. with is what was known to be refused when it was sent; another answer
// may have learned more meanwhile.
func (m *Model) learn(r *endpoint.Refusal, with refused) bool {
	text, f := r.Words(), m.known()
	m.learning.Lock()
	defer m.learning.Unlock()
	before := refused(m.refused.Load())
	if before != with {
		return true
	}
	after := before
	switch {
	case strings.Contains(text, "does not support tools") && m.cfg.Able.Tools != llm.Yes:
		after |= noTools
	case strings.Contains(text, "does not support thinking"), strings.Contains(text, "think value"):
		after |= noThinking
	case endpoint.IsBlind(text) && m.cfg.Able.Vision.Or(f.vision):
		after |= noImages
	}
	if after == before {
		return false
	}
	m.refused.Store(uint32(after))
	return true
}
