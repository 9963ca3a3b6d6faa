// Package screen holds what a person writes to the operator's rules before it is
// stored: a rule refuses the message, or replaces what it finds.
//
// Rules of the configuration and texts come in; the text to store, with what the
// person is to be told, or a *Refusal goes out. It must not know of sessions,
// stores or models, and it keeps no text.
package screen

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/bulkhead-host/bulkhead/host/config"
)

// Screen is a list of rules. It is immutable and safe for concurrent use.
type Screen struct{ rules []rule }

type rule struct {
	config.ScreenRule
	pattern *regexp.Regexp
}

// ErrTooLong is returned when what stands in place of parts makes a text longer
// than it may be.
var ErrTooLong = errors.New("the replacements make the text too long")

// Refusal is returned when a rule refuses a text.
type Refusal struct {
	// Rule is the name of the rule.
	Rule string
	// Message is a sentence for the person.
	Message string
}

// Error implements error, for the log. It holds nothing of the text.
func (r *Refusal) Error() string { return fmt.Sprintf("the rule %q refuses the message", r.Rule) }

// Screened is a text that was taken.
type Screened struct {
	Text string
	// Told has a sentence for each rule that replaced something, in their order.
	Told []string
}

// New returns the screen of checked rules. The error names the rule whose pattern
// cannot be read.
func New(rules []config.ScreenRule) (*Screen, error) {
	s := &Screen{}
	for _, r := range rules {
		pattern, err := regexp.Compile(r.Pattern)
		if err != nil {
			return nil, fmt.Errorf("the rule %q: %w", r.Name, err)
		}
		s.rules = append(s.rules, rule{r, pattern})
	}
	return s, nil
}

// Apply holds a text to the rules, in their order, each to what the one before
// left. The time is linear in the text for each rule. The error is a *Refusal, or
// ErrTooLong where a replacement makes it longer than most bytes.
func (s *Screen) Apply(text string, most int) (Screened, error) {
	out := Screened{Text: text}
	for _, r := range s.rules {
		switch r.Action {
		case config.ScreenRefuse:
			if r.pattern.MatchString(out.Text) {
				return Screened{}, r.refusal()
			}
		case config.ScreenReplace:
			changed, err := r.replaced(out.Text, most)
			if err != nil {
				return Screened{}, err
			}
			if changed != out.Text {
				out.Text, out.Told = changed, append(out.Told, r.told())
			}
		}
	}
	return out, nil
}

// replaced returns text with every match replaced.
func (r rule) replaced(text string, most int) (string, error) {
	matches := r.pattern.FindAllStringSubmatchIndex(text, -1)
	if len(matches) == 0 {
		return text, nil
	}
	var out []byte
	at := 0
	for _, match := range matches {
		out = append(out, text[at:match[0]]...)
		out = r.pattern.ExpandString(out, r.Replacement, text, match)
		at = match[1]
		if len(out) > most {
			return "", ErrTooLong
		}
	}
	out = append(out, text[at:]...)
	if len(out) > most && len(out) > len(text) {
		return "", ErrTooLong
	}
	return string(out), nil
}

func (r rule) refusal() *Refusal {
	message := r.Message
	if message == "" {
		message = fmt.Sprintf("This host does not take messages that match its rule “%s”. Nothing was stored.", r.Name)
	}
	return &Refusal{r.Name, message}
}

func (r rule) told() string {
	if r.Message != "" {
		return r.Message
	}
	return fmt.Sprintf("Parts of your message were replaced before it was stored, by the rule “%s” of this host.", r.Name)
}
