package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// Tx is one transaction of a Storage; it is the alias that every room declares
// for itself.
type Tx = interface {
	Get(key string) ([]byte, bool)
	Put(key string, value []byte) error
	Delete(key string) error
	Scan(prefix string, visit func(key string, value []byte) bool) error
}

// Storage keeps what is changed while the host runs.
type Storage interface {
	View(func(Tx) error) error
	Update(func(Tx) error) error
}

var (
	// ErrNoStorage is returned when a catalog without Storage is to be changed.
	ErrNoStorage = errors.New("this host takes no models while it runs")
	// ErrTaken is returned when another model has the name.
	ErrTaken = errors.New("another model has this name")
	// ErrNotAdded is returned when a model that was not added is to be removed.
	ErrNotAdded = errors.New("this model was not added here")
)

// MistakeError is returned when a model to add is not described rightly. Its
// text is a sentence for a person.
type MistakeError struct {
	// Field is the setting that it is about, such as base_url.
	Field   string
	Message string
}

// Error implements error.
func (e *MistakeError) Error() string { return e.Message }

// Keys of the storage.
const (
	addedPrefix = "added/"
	chosenKey   = "default"
)

// addedModel is a model that was added while the host ran.
type addedModel struct {
	llm.Model
	config config.Model
}

func (a addedModel) key() string { return keyOf(a.config) }

// keyOf identifies what a configured model reaches.
func keyOf(m config.Model) string {
	return key(baseOf(m), m.Model)
}

// stored is an added model on disk. The key is there as it is, for the store
// is closed to others.
type stored struct {
	Name          string `json:"name"`
	Provider      string `json:"provider"`
	BaseURL       string `json:"base_url"`
	Model         string `json:"model"`
	APIKey        string `json:"api_key,omitempty"`
	ContextTokens int    `json:"context_tokens,omitempty"`
	NativeTools   string `json:"native_tools,omitempty"`
	config.Tuning
}

// load reads what Storage keeps. A model that can no longer be built is left
// out with a line in the log; it stays on disk.
func (c *Catalog) load() error {
	if c.cfg.Storage == nil {
		return nil
	}
	return c.cfg.Storage.View(func(tx Tx) error {
		if name, ok := tx.Get(chosenKey); ok {
			c.chosen = string(name)
		}
		return tx.Scan(addedPrefix, func(_ string, value []byte) bool {
			a, err := c.revive(value)
			if err != nil {
				c.cfg.Logger.Warn("an added model cannot be used", "model", a.config.Name, "reason", err.Error())
			} else {
				c.added = append(c.added, a)
			}
			return true
		})
	})
}

// revive makes a model of what is on disk.
func (c *Catalog) revive(value []byte) (addedModel, error) {
	var s stored
	if err := json.Unmarshal(value, &s); err != nil {
		return addedModel{}, fmt.Errorf("read a stored model: %w", err)
	}
	m := config.Model{Name: s.Name, Provider: provider.Name(s.Provider), BaseURL: s.BaseURL, Model: s.Model,
		APIKey: llm.NewKey(s.APIKey), ContextTokens: s.ContextTokens, NativeTools: config.NativeTools(s.NativeTools),
		Tuning: s.Tuning}
	if slices.ContainsFunc(c.configured, func(o llm.Model) bool { return o.Info().Name == m.Name }) {
		return addedModel{config: m}, ErrTaken
	}
	model, err := c.build(m)
	return addedModel{model, m}, err
}

// Draft makes a model of a description without adding it, to be tried out. It is for
// operators. The error is a *MistakeError.
func (c *Catalog) Draft(p identity.Principal, m config.Model) (llm.Model, error) {
	if err := identity.Authorize(p, identity.TestModel, identity.ModelKind.All()); err != nil {
		return nil, err
	}
	return c.draft(m)
}

func (c *Catalog) draft(m config.Model) (llm.Model, error) {
	m, err := checked(m)
	if err != nil {
		return nil, err
	}
	model, err := c.build(m)
	if err != nil {
		return nil, &MistakeError{"base_url", upper(err.Error()) + "."}
	}
	return model, nil
}

// asFound gives a model whose provider is left out the one with which it was found
// on this machine, where it was.
func (c *Catalog) asFound(m config.Model) config.Model {
	if m.Provider != "" {
		return m
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	k := key(strings.TrimSpace(m.BaseURL), strings.TrimSpace(m.Model))
	for _, p := range c.probed {
		if p.key == k {
			m.Provider = p.target.Provider
		}
	}
	return m
}

// Add adds a model for good; it can be asked at once. A model that was found on
// this machine under the same address gives way to it, and says how it is asked
// where m leaves its provider out. It is for operators. The error is a
// *MistakeError, matches ErrTaken or ErrNoStorage, or is the storage's.
func (c *Catalog) Add(p identity.Principal, m config.Model) error {
	if err := identity.Authorize(p, identity.AddModel, identity.ModelKind.All()); err != nil {
		return err
	}
	if c.cfg.Storage == nil {
		return ErrNoStorage
	}
	m, err := checked(c.asFound(m))
	if err != nil {
		return err
	}
	model, err := c.draft(m)
	if err != nil {
		return err
	}
	c.change.Lock()
	defer c.change.Unlock()
	a := addedModel{model, m}
	if c.taken(a) {
		return ErrTaken
	}
	data, err := json.Marshal(stored{m.Name, string(m.Provider), m.BaseURL, m.Model, m.APIKey.Reveal(), m.ContextTokens,
		string(m.NativeTools), m.Tuning})
	if err != nil {
		return fmt.Errorf("encode a model: %w", err)
	}
	if err := c.cfg.Storage.Update(func(tx Tx) error { return tx.Put(addedPrefix+m.Name, data) }); err != nil {
		return fmt.Errorf("keep a model: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probed = slices.DeleteFunc(slices.Clone(c.probed), func(p probed) bool { return p.key == a.key() })
	c.added = append(slices.Clone(c.added), a)
	slices.SortFunc(c.added, func(x, y addedModel) int { return strings.Compare(x.config.Name, y.config.Name) })
	return nil
}

// taken tells whether another model has the name of a.
func (c *Catalog) taken(a addedModel) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	name := a.config.Name
	for _, p := range c.probed {
		if p.Info().Name == name && p.key != a.key() {
			return true
		}
	}
	return c.builtin.Info().Name == name ||
		slices.ContainsFunc(c.configured, func(m llm.Model) bool { return m.Info().Name == name }) ||
		slices.ContainsFunc(c.added, func(o addedModel) bool { return o.config.Name == name })
}

// Remove removes a model that was added. It is for operators. It returns ErrUnknown where
// no model has the name and ErrNotAdded where it comes from elsewhere.
func (c *Catalog) Remove(p identity.Principal, name string) error {
	if err := identity.Authorize(p, identity.RemoveModel, identity.ModelKind.All()); err != nil {
		return err
	}
	c.change.Lock()
	defer c.change.Unlock()
	c.mu.RLock()
	at := slices.IndexFunc(c.added, func(a addedModel) bool { return a.config.Name == name })
	c.mu.RUnlock()
	if at < 0 {
		if _, err := c.Get(name); err != nil {
			return err
		}
		return ErrNotAdded
	}
	c.mu.RLock()
	gone := c.added[at]
	c.mu.RUnlock()
	err := c.cfg.Storage.Update(func(tx Tx) error {
		if err := tx.Delete(addedPrefix + name); err != nil {
			return err
		}
		return tx.Delete(learnedKey(gone.config))
	})
	if err != nil {
		return fmt.Errorf("remove a model: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.added = slices.Delete(slices.Clone(c.added), at, at+1)
	return nil
}

// Choose makes a model the default. It is for operators. It returns ErrUnknown where there
// is none of that name.
func (c *Catalog) Choose(p identity.Principal, name string) error {
	if err := identity.Authorize(p, identity.ChooseModel, identity.ModelKind.All()); err != nil {
		return err
	}
	if c.cfg.Storage == nil {
		return ErrNoStorage
	}
	if name == "" {
		return fmt.Errorf("%q: %w", name, ErrUnknown)
	}
	if _, err := c.Get(name); err != nil {
		return err
	}
	c.change.Lock()
	defer c.change.Unlock()
	if err := c.cfg.Storage.Update(func(tx Tx) error { return tx.Put(chosenKey, []byte(name)) }); err != nil {
		return fmt.Errorf("keep the default model: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chosen = name
	return nil
}

// checked returns m with its defaults, or a *MistakeError.
func checked(m config.Model) (config.Model, error) {
	m.Name, m.BaseURL, m.Model = strings.TrimSpace(m.Name), strings.TrimSpace(m.BaseURL), strings.TrimSpace(m.Model)
	m.Provider = cmp.Or(m.Provider, provider.OpenAI)
	m.Tuning = m.Tuning.Normal()
	known, _ := provider.Get(m.Provider) // one that is none has no adapter, which says so
	unshown := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case m.Name == "":
		return m, &MistakeError{"name", "Give the model a name; it is what a person picks."}
	case len(m.Name) > maxNameBytes || strings.ContainsFunc(m.Name, unshown):
		return m, &MistakeError{"name", fmt.Sprintf("The name may have %d bytes, and only what can be shown.",
			maxNameBytes)}
	case known.Builtin:
		return m, &MistakeError{"provider", "The extractive model is built in; there is no need to add it."}
	case m.BaseURL == "" && known.BaseURL == "" && known.Name != "":
		return m, &MistakeError{"base_url", "Say where the model server listens, such as " + known.ExampleURL + "."}
	case m.Model == "":
		return m, &MistakeError{"model", "Say what the server calls the model, such as qwen3:8b."}
	case m.ContextTokens < 0:
		return m, &MistakeError{"context_tokens", "The context window is a number of tokens, or 0 where you do not " +
			"know it."}
	case strings.ContainsFunc(m.APIKey.Reveal(), unshown):
		return m, &MistakeError{"api_key", "The key holds a character that no key has. Copy it once more."}
	case !slices.Contains([]config.NativeTools{"", config.NativeToolsAuto, config.NativeToolsYes, config.NativeToolsNo},
		m.NativeTools):
		return m, &MistakeError{"native_tools", "The setting native_tools must be one of auto, yes, no."}
	}
	for _, mistake := range m.Tuning.Check(m.Provider) {
		return m, &MistakeError{mistake.Field, "The setting " + mistake.Field + " " + mistake.Says + "."}
	}
	return m, nil
}

// upper begins a sentence.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
