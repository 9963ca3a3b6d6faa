// Package agent says what a named agent is: its record, its limits, and the key of its
// name. It must not know who may do what with one, nor what answering takes.
package agent

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/store/table"
)

const (
	// Max is how many agents there are at most.
	Max = 200
	// MaxNameRunes is the greatest length of an agent's name, in code points.
	MaxNameRunes = 80
	// MaxInstructionBytes is the greatest length of an agent's instructions, in bytes.
	MaxInstructionBytes = 16 << 10
	// MaxTools is how many tools an agent names at most.
	MaxTools = 256
	// MaxCycles is the greatest limit of cycles that an agent can set.
	MaxCycles = 50
	// maxWordBytes is the greatest length of the names of tools and models in an
	// agent, in bytes.
	maxWordBytes = 256
)

// Record is a way to answer that the operators set up and every user may choose.
type Record struct {
	ID string `json:"id"`
	// Name is unique without regard to case: 1 to MaxNameRunes code points of
	// one line, without surrounding space.
	Name string `json:"name"`
	// Instructions are what the model is told besides; at most MaxInstructionBytes.
	Instructions string `json:"instructions,omitempty"`
	// Tools are the names of those that it may use, at most MaxTools; nil for
	// all, empty for none. They need not be there.
	Tools []string `json:"tools"`
	// Model is the name of the model that answers where the person picks none, ""
	// for the host's default. It need not be there.
	Model string `json:"model,omitempty"`
	// MaxCycles is the limit of cycles, 1 to MaxCycles; 0 for the host's.
	MaxCycles int       `json:"max_cycles,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Names tells whether the agent may use the tool of that name.
func (a Record) Names(tool string) bool { return a.Tools == nil || slices.Contains(a.Tools, tool) }

// Key is the key of a name in table.AgentNames.
func Key(name string) string { return strings.ToLower(name) }

// Checked returns a record as it is kept, or a *table.FieldError for what is out of the limits.
func Checked(a Record) (Record, error) {
	a.Name, a.Instructions = strings.TrimSpace(a.Name), strings.TrimSpace(a.Instructions)
	switch {
	case !oneLine(a.Name) || utf8.RuneCountInString(a.Name) > MaxNameRunes:
		return Record{}, table.InvalidField("name", "an agent's name has 1 to %d characters on one line", MaxNameRunes)
	case !utf8.ValidString(a.Instructions) || strings.ContainsRune(a.Instructions, 0):
		return Record{}, table.InvalidField("instructions", "an agent's instructions are UTF-8 text")
	case len(a.Instructions) > MaxInstructionBytes:
		return Record{}, table.InvalidField("instructions", "an agent's instructions have at most %d KiB",
			MaxInstructionBytes>>10)
	case a.MaxCycles < 0 || a.MaxCycles > MaxCycles:
		return Record{}, table.InvalidField("max_cycles", "an agent's max_cycles is 1 to %d, or 0 for the host's",
			MaxCycles)
	case a.Model != "" && (!oneLine(a.Model) || len(a.Model) > maxWordBytes):
		return Record{}, table.InvalidField("model", "an agent's model is a name of at most %d bytes", maxWordBytes)
	case len(a.Tools) > MaxTools:
		return Record{}, table.InvalidField("tools", "an agent names at most %d tools", MaxTools)
	}
	if a.Tools == nil {
		return a, nil
	}
	tools := make([]string, 0, len(a.Tools))
	for _, name := range a.Tools {
		if name = strings.TrimSpace(name); !oneLine(name) || len(name) > maxWordBytes {
			return Record{}, table.InvalidField("tools", "an agent's tools are names of 1 to %d bytes", maxWordBytes)
		}
		if !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	a.Tools = tools
	return a, nil
}

// oneLine tells whether a text is UTF-8, not empty, and free of control characters.
func oneLine(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
