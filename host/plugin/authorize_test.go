package plugin_test

import (
	"errors"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// TestOnlyOperatorsManagePlugins asks the manager itself, as everybody who is no operator.
func TestOnlyOperatorsManagePlugins(t *testing.T) {
	s := open(t)
	grant := capability.Grant{Capability: capability.HTTP, Mode: capability.Deny}
	for _, by := range []struct {
		p    identity.Principal
		want error
	}{
		{identity.Principal{}, identity.ErrNobody},
		{identity.New(identity.Account{ID: "u_eve"}, identity.Cookie), identity.ErrForbidden},
		{identity.ForUser(s.owner.UserID(), "a test"), identity.ErrForbidden}, // an operator's tool call
		{identity.ForHost("a test"), identity.ErrForbidden},
	} {
		ctx := t.Context()
		_, listed := s.manager.List(ctx, by.p)
		for name, err := range map[string]error{
			"List": listed, "Configure": s.manager.Configure(ctx, by.p, "none", nil),
			"SetGrant":    s.manager.SetGrant(ctx, by.p, "none", grant),
			"AcceptTools": s.manager.AcceptTools(ctx, by.p, "none", ""),
			"ForgetUser":  s.manager.ForgetUser(ctx, by.p, s.owner.UserID()),
		} {
			if !errors.Is(err, by.want) {
				t.Errorf("%s by %s: %v, want %v", name, by.p, err, by.want)
			}
		}
	}
}
