package identity

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestEveryActionHasOneRule reads the constants, so that one that is forgotten in the table
// is found.
func TestEveryActionHasOneRule(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "rules.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var declared []Action
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Action" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, Action(text))
		}
		return true
	})
	if len(declared) < 40 {
		t.Fatalf("only %d constants were found; the test reads the wrong file", len(declared))
	}
	count := map[Action]int{}
	for _, r := range Rules() {
		count[r.Action]++
		if !slices.Contains(declared, r.Action) {
			t.Errorf("%s has a rule and is no constant", r.Action)
		}
		if r.Kind == "" || r.Who == "" || r.Says == "" {
			t.Errorf("the rule of %s is not whole: %+v", r.Action, r)
		}
		if bare := r.Who == Anybody || r.Who == HostOnly || r.Who == LinkHolder; bare != (r.Scope == "") {
			t.Errorf("%s is for %s and has the scope %q", r.Action, r.Who, r.Scope)
		}
	}
	for _, a := range declared {
		if count[a] != 1 {
			t.Errorf("%s has %d rules", a, count[a])
		}
	}
}

// TestWhoMayWhat tries each rule as everybody there is. The expectations are written out
// for each Who, apart from the code that decides.
func TestWhoMayWhat(t *testing.T) {
	operator := Account{ID: "u_op", Roles: []Role{Operator}}
	asked := []struct {
		name string
		p    Principal
	}{
		{"nobody", Principal{}},
		{"stranger", New(Account{ID: "u_eve"}, Cookie)},
		{"owner", New(Account{ID: "u_ann"}, Command)},
		{"operator", New(operator, Key)},
		{"host for the owner", ForUser("u_ann", "a test")},
		{"owner's link", New(Account{ID: "u_ann"}, Link)},
		{"host", ForHost("a test")},
	}
	expected := map[Who][]error{
		Anybody:         {nil, nil, nil, nil, nil, nil, nil},
		SignedIn:        {ErrNobody, nil, nil, nil, nil, ErrForbidden, ErrForbidden},
		Owner:           {ErrNobody, ErrNotYours, nil, ErrNotYours, nil, ErrForbidden, ErrForbidden},
		OwnerOrOperator: {ErrNobody, ErrNotYours, nil, nil, nil, ErrForbidden, ErrForbidden},
		Operators:       {ErrNobody, ErrForbidden, ErrForbidden, nil, ErrForbidden, ErrForbidden, ErrForbidden},
		LinkHolder:      {ErrNobody, ErrForbidden, ErrForbidden, ErrForbidden, ErrForbidden, nil, ErrForbidden},
		HostOnly: {ErrNobody, ErrForbidden, ErrForbidden, ErrForbidden, ErrForbidden,
			ErrForbidden, ErrForbidden},
	}
	for _, rule := range Rules() {
		for i, ask := range asked {
			want := expected[rule.Who][i]
			if ask.name == "host" && rule.Host {
				want = nil
			}
			if got := Authorize(ask.p, rule.Action, Resource{rule.Kind, "x", "u_ann"}); !errors.Is(got, want) {
				t.Errorf("%s by %s: %v, want %v", rule.Action, ask.name, got, want)
			}
		}
	}
}

// TestTheHostMayLittleByItself names what it may, so that more is added on purpose only.
func TestTheHostMayLittleByItself(t *testing.T) {
	want := []Action{ReadUser, ListUsers, CreateUser, LinkUser,
		RecoverRuns, IndexDocuments, InspectModels, RefreshModels}
	var may []Action
	for _, r := range Rules() {
		if r.Who != Anybody && Authorize(ForHost("a test"), r.Action, Resource{Kind: r.Kind, Owner: "u_ann"}) == nil {
			may = append(may, r.Action)
		}
	}
	if !slices.Equal(may, want) {
		t.Errorf("the host may %q, want %q", may, want)
	}
}

func users() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "u_ann", "u_eve", "u_op"})
}

func actions() *rapid.Generator[Rule] { return rapid.SampledFrom(Rules()) }

func principals() *rapid.Generator[Principal] {
	return rapid.Custom(func(t *rapid.T) Principal {
		user := users().Draw(t, "user")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return ForHost("a test")
		case 1:
			return ForUser(user, "a test")
		}
		roles := rapid.SliceOfN(rapid.SampledFrom([]Role{Operator, "auditor"}), 0, 2).Draw(t, "roles")
		scopes := rapid.SliceOfN(rapid.SampledFrom([]Scope{Read, Chat, Write, Manage, "other"}), 0, 3).Draw(t, "scopes")
		origin := rapid.SampledFrom([]Origin{Cookie, Link, Command, Key}).Draw(t, "origin")
		return New(Account{ID: user, Roles: roles}, origin, scopes...)
	})
}

// bare is which of the three refusals an error is.
func bare(t *rapid.T, err error) error {
	var is []error
	for _, refusal := range []error{ErrNobody, ErrForbidden, ErrNotYours} {
		if errors.Is(err, refusal) {
			is = append(is, refusal)
		}
	}
	if err == nil && len(is) == 0 {
		return nil
	}
	if len(is) != 1 {
		t.Fatalf("%v is %d refusals", err, len(is))
	}
	return is[0]
}

// TestARefusalTellsNothingOfTheResource: to whom it is not theirs, a resource looks as one
// that is not there, and the other refusals are the same for all resources.
func TestARefusalTellsNothingOfTheResource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, rule := principals().Draw(t, "principal"), actions().Draw(t, "action")
		there := Resource{rule.Kind, "x_1", users().Draw(t, "owner")}
		gone := Resource{Kind: rule.Kind, ID: "x_2"}
		one, other := bare(t, Authorize(p, rule.Action, there)), bare(t, Authorize(p, rule.Action, gone))
		if !p.Owns(there.Owner) && one != other {
			t.Fatalf("%s by %s: %v where it is there, %v where not", rule.Action, p, one, other)
		}
		if (other == ErrNobody || other == ErrForbidden) && one != other {
			t.Fatalf("%s by %s: %v depends on the resource", rule.Action, p, one)
		}
	})
}

func TestScopesOnlyNarrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, rule := principals().Draw(t, "principal"), actions().Draw(t, "action")
		r := Resource{rule.Kind, "x", users().Draw(t, "owner")}
		whole := p
		whole.scopes = nil
		if Authorize(p, rule.Action, r) != nil {
			return
		}
		if err := Authorize(whole, rule.Action, r); err != nil {
			t.Fatalf("%s: the scopes of %s gave it more: %v", rule.Action, p, err)
		}
		if rule.Scope != "" && len(p.scopes) > 0 && !slices.Contains(p.scopes, rule.Scope) {
			t.Fatalf("%s has the scopes %q and may %s", p, p.scopes, rule.Action)
		}
	})
}

func TestNoRoleOpensWhatIsSomebodyElses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, rule := principals().Draw(t, "principal"), actions().Draw(t, "action")
		r := Resource{rule.Kind, "x", users().Draw(t, "owner")}
		if rule.Who == Owner && Authorize(p, rule.Action, r) == nil && !p.Owns(r.Owner) {
			t.Fatalf("%s may %s of %q", p, rule.Action, r.Owner)
		}
		roleless := ForUser(p.UserID(), "a test")
		if Authorize(roleless, rule.Action, r) == nil && rule.Who == Operators {
			t.Fatalf("the host for %q may %s", p.UserID(), rule.Action)
		}
	})
}

func TestWhatHasNoRuleIsRefused(t *testing.T) {
	owner := New(Account{ID: "u_ann", Roles: []Role{Operator}}, Cookie)
	for _, p := range []Principal{{}, owner, ForHost("a test")} {
		if err := Authorize(p, "session.burn", Resource{SessionKind, "s", "u_ann"}); !errors.Is(err, ErrForbidden) {
			t.Errorf("an action without a rule by %s: %v", p, err)
		}
		if err := Authorize(p, ReadSession, Resource{RunKind, "r", "u_ann"}); !errors.Is(err, ErrForbidden) {
			t.Errorf("a session's action on a run by %s: %v", p, err)
		}
	}
}

func TestRulesAreTheCallersOwn(t *testing.T) {
	Rules()[0].Who = HostOnly
	if err := Authorize(Principal{}, OpenPage, Resource{Kind: HostKind}); err != nil {
		t.Errorf("a caller changed the table: %v", err)
	}
}
