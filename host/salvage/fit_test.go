package salvage_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

func TestFitRepairsAndTeaches(t *testing.T) {
	tool := salvage.Tool{Name: "book", Parameters: json.RawMessage(`{"type":"object","properties":{"seats":{"type":"integer"},
		"tags":{"type":"array","items":{"type":"string"}},"class":{"enum":["first","second"]},"day":{"$ref":"#/$defs/day"}},
		"required":["seats"],"$defs":{"day":{"type":"object","properties":{"month":{"type":"integer"}}}}}`)}
	for _, c := range []struct{ in, want, problem string }{
		{`{"seats":2}`, `{"seats":2}`, ""},
		{`{"seats":"2","tags":"quiet"}`, `{"seats":2,"tags":["quiet"]}`, ""},
		{`{'seats': 02, 'tags': ('a', 1,)}`, `{"seats":2,"tags":["a","1"]}`, ""},
		{`"{\"seats\": 2}"`, `{"seats":2}`, ""},
		{`{"seats":2,"day":"{\"month\":\"7\"}"}`, `{"seats":2,"day":{"month":7}}`, ""},
		{`{"arguments":{"seats":3}}`, `{"seats":3}`, ""},
		{`{"seats":2`, `{"seats":2}`, ""},
		{`{"seats":12345678901234567890}`, `{"seats":12345678901234567890}`, ""},
		{`{"seats":2,"class":"third"}`, `{"seats":2,"class":"third"}`, `class must be one of ["first","second"].`},
		{`{}`, `{}`, "seats is missing."},
		{``, `{}`, "seats is missing."},
		{`{"seats":"two"}`, `{"seats":"two"}`, "seats must be an integer."},
		{`two seats please`, `{}`, "no JSON object"},
	} {
		fitted, err := salvage.Fit(tool, c.in)
		got := fitted.Arguments
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
		var misfit *salvage.Misfit
		switch {
		case c.problem == "" && err != nil:
			t.Errorf("%s: %v", c.in, err)
		case c.problem != "" && !errors.As(err, &misfit):
			t.Errorf("%s: got no *Misfit but %v", c.in, err)
		case c.problem != "" && (!strings.Contains(err.Error(), c.problem) ||
			!strings.Contains(err.Error(), `"required"`)):
			t.Errorf("%s: %v does not say %q with the schema", c.in, err, c.problem)
		}
	}
}

// TestATextAboutArgumentsIsBounded: the schema, the sentences and their number.
func TestATextAboutArgumentsIsBounded(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	m := &salvage.Misfit{Tool: "t", Schema: long}
	for range 100 {
		m.Problems = append(m.Problems, long)
	}
	text := m.Error()
	if len(text) > 10<<10 || !utf8.ValidString(text) || !strings.Contains(text, "And 90 more.") ||
		!strings.Contains(text, "of 200000 bytes)") {
		t.Errorf("%d bytes: %.200s", len(text), text)
	}
}
