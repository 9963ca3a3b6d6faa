package toolrun

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

var bookSchema = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"seats":{"type":"integer"},
	"where":{"type":"object","properties":{"city":{"type":"string"},"zip":{"type":"string"}},"required":["city"]},
	"tags":{"type":"array","items":{"type":"string"}},"any":{"type":["string","null"]}},"required":["text"]}`)

// TestArgumentsAreFittedOnceForAllTools: what a tool gets, and what a model reads of it.
// A tool that reads gets what was meant; one that writes gets what was said.
func TestArgumentsAreFittedToWhatTheToolDoes(t *testing.T) {
	const refused = "!"
	for _, c := range []struct{ in, reads, writes string }{
		{`{"text":"a"}`, `{"text":"a"}`, `{"text":"a"}`},
		{`{"text":"a","seats":null}`, `{"text":"a"}`, `{"text":"a"}`},
		{`{"text":"a","any":null}`, `{"any":null,"text":"a"}`, `{"any":null,"text":"a"}`},
		{`{"text":"a","where":{"city":"x","zip":null}}`, `{"text":"a","where":{"city":"x"}}`, `{"text":"a","where":{"city":"x"}}`},
		{`{"text":"a","seats":"3"}`, `{"seats":3,"text":"a"}`, `{"seats":3,"text":"a"}`},
		{`{"text":7}`, `{"text":"7"}`, `{"text":"7"}`},
		{`{"text":"a","tags":"quiet"}`, `{"tags":["quiet"],"text":"a"}`, `{"tags":["quiet"],"text":"a"}`},
		{`"{\"text\":\"a\"}"`, `{"text":"a"}`, `{"text":"a"}`},
		{`{"text":"half`, `{"text":"half"}`, refused},
		{`{'text': 'a',}`, `{"text":"a"}`, refused},
		{`{"text":{"deep":"x"}}`, `{"text":"{\"deep\":\"x\"}"}`, refused},
		{`{"text":"I keep{\"text\":\"I keep bees.\"}`, ``, refused},
		{`{"text":null}`, refused, refused},
		{`{"seats":"many","text":"a"}`, refused, refused},
		{`{"text":{"type":"string","description":"A fact"}}`, refused, refused},
		{`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, refused, refused},
		{`{"text":{"type":"string"},"seats":{"type":"integer","minimum":1}}`, refused, refused},
	} {
		for name, want := range map[string]string{"reads": c.reads, "writes": c.writes} {
			spec := tool.Spec{Name: "book", InputSchema: bookSchema}
			if name == "writes" {
				spec.Labels = []string{tool.LabelWrites}
			}
			h := newHarness(nil, echo(spec))
			done := h.Run(t.Context(), 0, []Request{{Name: "book", Arguments: c.in}})[0]
			switch {
			case want == "":
			case want == refused && done.Outcome != packet.OutcomeError:
				t.Errorf("%s got %s: %s", name, c.in, done.Text)
			case want != refused && done.Text != want:
				t.Errorf("%s got of %s: %s, want %s", name, c.in, done.Text, want)
			}
		}
	}
}

func TestAnArgumentThatIsNotTakenIsLeftOutAndNamed(t *testing.T) {
	for _, labels := range [][]string{nil, {tool.LabelWrites}} {
		h := newHarness(nil, echo(tool.Spec{Name: "book", InputSchema: bookSchema, Labels: labels}))
		done := h.Run(t.Context(), 0, []Request{{Name: "book",
			Arguments: `{"text":"a","colour":"red","where":{"city":"x","floor":2}}`}})[0]
		if want := `{"text":"a","where":{"city":"x"}}`; done.Arguments != want ||
			!strings.HasPrefix(done.Text, want+"\n[") || !strings.Contains(done.Text, "colour, where.floor") {
			t.Errorf("%+v", done)
		}
	}
	for _, open := range []string{`"additionalProperties":true`, `"additionalProperties":{"type":"string"}`,
		`"patternProperties":{"^x":{}}`, `"anyOf":[{"properties":{"colour":{}}}]`} {
		spec := tool.Spec{Name: "book", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},` + open + `}`)}
		h := newHarness(nil, echo(spec))
		if done := h.Run(t.Context(), 0, []Request{{Name: "book", Arguments: `{"text":"a","colour":"red"}`}})[0]; !strings.Contains(done.Arguments, "red") {
			t.Errorf("%s: %+v", open, done)
		}
	}
}

func TestACallThatWasMendedDoesNotReachAToolThatWrites(t *testing.T) {
	for _, labels := range [][]string{nil, {tool.LabelWrites}} {
		h := newHarness(nil, echo(tool.Spec{Name: "book", InputSchema: bookSchema, Labels: labels}))
		done := h.Run(t.Context(), 0, []Request{{Name: "book", Arguments: `{"text":"a"}`, Inexact: true}})[0]
		if ran := done.Outcome == packet.OutcomeOK; ran != (labels == nil) {
			t.Errorf("with the labels %q: %+v", labels, done)
		}
		if labels != nil && !strings.Contains(done.Text, "nothing was done") {
			t.Errorf("the model is told %q", done.Text)
		}
	}
}
