package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/screen"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

// screen returns what holds messages to the rules of the configuration, nil where
// there are none. The log says which rule refused whose message, never its text.
func (a *App) screen() (func(context.Context, identity.Principal, string) (turn.Screened, error), error) {
	if len(a.options.Config.Screen) == 0 {
		return nil, nil
	}
	rules, err := screen.New(a.options.Config.Screen)
	if err != nil {
		return nil, fmt.Errorf("read the rules for messages: %w", err)
	}
	return func(ctx context.Context, p identity.Principal, text string) (turn.Screened, error) {
		out, err := rules.Apply(ctx, text, turn.MaxTextBytes)
		var refused *screen.Refusal
		if errors.As(err, &refused) {
			a.options.Logger.Info("a message was refused", "rule", refused.Rule, "user", p.UserID())
		} else if errors.Is(err, screen.ErrTooSlow) {
			a.options.Logger.Warn("a rule for messages takes too long", "error", err, "user", p.UserID())
		}
		if err != nil {
			return turn.Screened{}, err
		}
		taken := turn.Screened{Text: out.Text}
		for _, sentence := range out.Told {
			taken.Notices = append(taken.Notices, packet.NewNotice(packet.CodeMessageChanged, sentence))
		}
		return taken, nil
	}, nil
}
