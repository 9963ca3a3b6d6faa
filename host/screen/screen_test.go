package screen_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/screen"
)

func rules(t testing.TB) *screen.Screen {
	t.Helper()
	s, err := screen.New([]config.ScreenRule{
		{Name: "cards", Pattern: `\b(?:\d{4}[ -]?){3}(\d{4})\b`, Action: config.ScreenReplace,
			Replacement: "[card …$1]"},
		{Name: "keys", Pattern: `(?i)begin (rsa |openssh )?private key`, Action: config.ScreenRefuse,
			Message: "Private keys stay at home."},
		{Name: "leftovers", Pattern: `card …0000`, Action: config.ScreenRefuse},
		{Name: "names", Pattern: `Skerryvore`, Action: config.ScreenReplace, Message: "Names of places are taken out."},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRulesApplyInTheirOrder(t *testing.T) {
	for text, want := range map[string]struct {
		text string
		told []string
	}{
		"Nothing here.": {"Nothing here.", nil},
		"1234 5678 1234 4711 and 1234567812340815 x": {"[card …4711] and [card …0815] x",
			[]string{"Parts of your message were replaced before it was stored, by the rule “cards” of this host."}},
		"Tide at Skerryvore, 1234-5678-1234-4711 🙂.": {"Tide at , [card …4711] 🙂.",
			[]string{"Parts of your message were replaced before it was stored, by the rule “cards” of this host.",
				"Names of places are taken out."}},
	} {
		got, err := rules(t).Apply(t.Context(), text, 1000)
		if err != nil || got.Text != want.text || !slices.Equal(got.Told, want.told) {
			t.Errorf("%q became %q, told %q, %v", text, got.Text, got.Told, err)
		}
	}
}

func TestARuleRefusesWithItsSentence(t *testing.T) {
	for text, want := range map[string]string{
		"-----BEGIN OPENSSH PRIVATE KEY-----": "Private keys stay at home.",
		"1234 5678 1234 0000": "This host does not take messages that match its rule “leftovers”. " +
			"Nothing was stored.",
	} {
		got, err := rules(t).Apply(t.Context(), text, 1000)
		var refused *screen.Refusal
		if !errors.As(err, &refused) || refused.Message != want || got.Text != "" {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if strings.Contains(err.Error(), "1234") {
			t.Errorf("the text stands in %q", err)
		}
	}
}

func TestAReplacementCannotGrowWithoutBound(t *testing.T) {
	s, err := screen.New([]config.ScreenRule{{Name: "a", Pattern: "a", Action: config.ScreenReplace,
		Replacement: strings.Repeat("b", 500)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), strings.Repeat("a", 1000), 10_000); !errors.Is(err, screen.ErrTooLong) {
		t.Errorf("got %v", err)
	}
	if got, err := s.Apply(t.Context(), strings.Repeat("a", 20), 10_000); err != nil || len(got.Text) != 10_000 {
		t.Errorf("%d bytes, %v", len(got.Text), err)
	}
}

func TestAPatternThatCannotBeReadIsAnError(t *testing.T) {
	if _, err := screen.New([]config.ScreenRule{{Name: "odd", Pattern: "("}}); err == nil ||
		!strings.Contains(err.Error(), `"odd"`) {
		t.Errorf("got %v", err)
	}
}

// FuzzApply holds that a text that was taken is no longer than the limit unless it
// was before, and is taken unchanged where nothing is told.
func FuzzApply(f *testing.F) {
	f.Add("1234 5678 1234 4711", 20)
	f.Add("Skerryvore\xff", 3)
	s := rules(f)
	f.Fuzz(func(t *testing.T, text string, most int) {
		got, err := s.Apply(t.Context(), text, most)
		var refused *screen.Refusal
		switch {
		case errors.As(err, &refused):
			if refused.Message == "" || refused.Rule == "" {
				t.Errorf("%+v", refused)
			}
		case errors.Is(err, screen.ErrTooLong):
		case err != nil:
			t.Error(err)
		case len(got.Text) > max(most, len(text)):
			t.Errorf("%d bytes of %d became %d", len(text), most, len(got.Text))
		case len(got.Told) == 0 && got.Text != text:
			t.Errorf("%q became %q without a word", text, got.Text)
		}
	})
}

func TestARuleThatReadsOnBehindEachMatchIsEnded(t *testing.T) {
	s, err := screen.New([]config.ScreenRule{{Name: "keys", Pattern: `BEGIN(?s:.*END)?`, Action: config.ScreenReplace}})
	if err != nil {
		t.Fatal(err)
	}
	begins := strings.Repeat("BEGIN ", 2000) // each match looks for an END in all that follows
	if got, err := s.Apply(t.Context(), begins, 1<<20); !errors.Is(err, screen.ErrTooSlow) || got.Text != "" {
		t.Errorf("%d bytes, %v", len(got.Text), err)
	}
	if got, err := s.Apply(t.Context(), begins+"END.", 1<<20); err != nil || got.Text != "." {
		t.Errorf("%.20q, %v", got.Text, err)
	}
}
