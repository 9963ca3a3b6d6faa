// Package screen holds what a person writes to the operator's rules before it is
// stored: a rule refuses the message, or replaces what it finds.
//
// Rules of the configuration and texts come in; the text to store, with what the
// person is to be told, or a *Refusal goes out. It must not know of sessions,
// stores or models, and it keeps no text.
package screen

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/pattern"
)

// Screen is a list of rules. It is immutable and safe for concurrent use.
type Screen struct{ rules []rule }

type rule struct {
	config.ScreenRule
	pattern *pattern.Pattern
}

// ErrTooLong is returned when what stands in place of parts makes a text longer
// than it may be. Like every error of Apply but that of ctx, it is what a client is
// told.
var ErrTooLong error = fault.New(fault.TooLarge,
	"What this host puts in place of parts of the message makes it too long. Send it in pieces.")

// ErrTooSlow is returned when a rule's matches read on so far behind themselves that
// finding them all takes too long.
var ErrTooSlow error = fault.New(fault.TooLarge, "A rule of this host takes too long on this message. Send it in "+
	"pieces.")

// replaceWork bounds how often each character is read to find what a rule replaces.
const replaceWork = 64

// Refusal is returned when a rule refuses a text.
type Refusal struct {
	// Rule is the name of the rule.
	Rule string
	// Message is a sentence for the person.
	Message string
}

// Error implements error, for the log. It holds nothing of the text.
func (r *Refusal) Error() string { return fmt.Sprintf("the rule %q refuses the message", r.Rule) }

// As lets errors.As find the *fault.Error that a client is told of a Refusal.
func (r *Refusal) As(target any) bool {
	told, ok := target.(**fault.Error)
	if ok {
		*told = fault.New(fault.Refused, r.Message)
	}
	return ok
}

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
		expr, err := pattern.Compile(r.Pattern)
		if err != nil {
			return nil, fmt.Errorf("the rule %q: %w", r.Name, err)
		}
		s.rules = append(s.rules, rule{r, expr})
	}
	return s, nil
}

// Apply holds a text to the rules, in their order, each to what the one before
// left. The time is linear in the text for each rule. The error is a *Refusal,
// ErrTooLong where a replacement makes it longer than most bytes, ErrTooSlow, or that
// of ctx.
func (s *Screen) Apply(ctx context.Context, text string, most int) (Screened, error) {
	out := Screened{Text: text}
	for _, r := range s.rules {
		switch r.Action {
		case config.ScreenRefuse:
			if r.pattern.Match(out.Text) {
				return Screened{}, r.refusal()
			}
		case config.ScreenReplace:
			changed, err := r.replaced(ctx, out.Text, most)
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
func (r rule) replaced(ctx context.Context, text string, most int) (string, error) {
	if !r.pattern.Match(text) {
		return text, nil
	}
	var out []byte
	at := 0
	for match, err := range r.pattern.All(ctx, text, 0, replaceWork*len(text)) {
		if errors.Is(err, pattern.ErrTooMuch) {
			return "", fmt.Errorf("%w: %q", ErrTooSlow, r.Name)
		}
		if err != nil {
			return "", err
		}
		out = append(out, text[at:match[0]]...)
		out = r.pattern.Expand(out, r.Replacement, text, match)
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
	return fmt.Sprintf("Parts of your message were replaced before it was stored, by the rule “%s” of this host.",
		r.Name)
}
