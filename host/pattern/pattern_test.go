package pattern_test

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/pattern"
)

// all collects the matches and the error.
func all(t *testing.T, ctx context.Context, expr, text string, work int) (found [][]int, err error) {
	t.Helper()
	p, err := pattern.Compile(expr)
	if err != nil {
		t.Fatal(err)
	}
	for match, err := range p.All(ctx, text, 0, work) {
		if err != nil {
			return found, err
		}
		found = append(found, match)
	}
	return found, nil
}

func FuzzMatchesAreThoseOfTheLibrary(f *testing.F) {
	for _, expr := range []string{`a`, `(a+)(b)?`, `a*`, `\b`, `^a`, `(?m)^a`, `a$`, `(?m)a$`, `\Aa|b`, `(?i)ä|`, `b*?`,
		`(?P<n>.)\B`, `a|ab`, `\bab`, `(?s).`} {
		for _, text := range []string{"", "a", "aabab", "a\nab\n", "ää a\xffä", "ab ab", "\xff\xfe"} {
			f.Add(expr, text)
		}
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		re, err := regexp.Compile(expr)
		if err != nil || len(expr) > 100 || len(text) > 1000 {
			return
		}
		if _, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + expr + `)`); err != nil {
			return // at the library's own limits
		}
		found, err := all(t, t.Context(), expr, text, 1<<30)
		if want := re.FindAllStringSubmatchIndex(text, -1); err != nil || !reflect.DeepEqual(found, want) {
			t.Errorf("%q in %q: %v, %v; the library finds %v", expr, text, found, err, want)
		}
	})
}

func TestWorkIsBounded(t *testing.T) {
	text := strings.Repeat("e", 10_000)
	// Each of the matches reads all that follows.
	found, err := all(t, t.Context(), `e(?s:.*#)?`, text, 4*len(text))
	if !errors.Is(err, pattern.ErrTooMuch) || len(found) < 3 || len(found) > 4 {
		t.Errorf("%d matches, %v", len(found), err)
	}
	if found, err := all(t, t.Context(), `e`, text, 4*len(text)); err != nil || len(found) != len(text) {
		t.Errorf("%d matches, %v", len(found), err)
	}
}

func TestNoMatchIsMadeUpWhereTheTextIsNotReadToItsEnd(t *testing.T) {
	if found, err := all(t, t.Context(), `a+$`, "aaaaaaaaaaaaaaaab", 5); !errors.Is(err, pattern.ErrTooMuch) ||
		found != nil {
		t.Errorf("%v, %v", found, err)
	}
}

func TestASearchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found, err := all(t, ctx, `b`, strings.Repeat("a", 100_000), 1<<30); !errors.Is(err, context.Canceled) ||
		found != nil {
		t.Errorf("%v, %v", found, err)
	}
}
