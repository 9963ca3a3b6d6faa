package plugin_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

func TestABadPluginFailsItsOwnCallOnly(t *testing.T) {
	const manifest = `{"manifest":1,"name":"bad","version":"1","limits":{"timeout_ms":%d}}`
	cases := []struct {
		name, does string
		kind       tool.FailureKind
		says       string
	}{
		{"trap", guesttest.Traps, tool.FailureTrap, "crashed"},
		{"loop", guesttest.Loops, tool.FailureTimeout, "too long"},
		{"no JSON", guesttest.Answers + "hello", tool.FailureFailed, "invalid JSON"},
		{"half JSON", guesttest.Answers + `{"content":[`, tool.FailureFailed, "invalid JSON"},
		{"not UTF-8", guesttest.Answers + "{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}", tool.FailureFailed,
			"invalid JSON"},
		{"no content", guesttest.Answers + `{}`, tool.FailureFailed, "invalid JSON"},
		{"content of the wrong type", guesttest.Answers + `{"content":"x"}`, tool.FailureFailed, "invalid JSON"},
		{"nothing", guesttest.Answers, tool.FailureFailed, "invalid JSON"},
		{"documents of the wrong type", guesttest.Answers +
			`{"content":[{"type":"text","text":"fine"}],"_meta":{"bulkhead/documents":7}}`, "", "fine"},
		{"more than we know", guesttest.Answers + `{"content":[{"type":"text","text":"fine","annotations":{}}],"_meta":{"x":1},"y":2}`, "", "fine"},
	}
	s := open(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			limit := 60_000
			if c.does == guesttest.Loops {
				limit = 2000 // its list of tools must be made within it too
			}
			if err := s.install(t, map[string][]byte{"bad.wasm": guesttest.Packed(t, guesttest.Bad(c.does),
				fmt.Sprintf(manifest, limit))}); err != nil {
				t.Fatal(err)
			}
			r := s.call(t, "bad", `{}`)
			var kind tool.FailureKind
			if r.Failure != nil {
				if kind = r.Failure.Kind; r.Failure.Message == "" {
					t.Error("there is no sentence for the person")
				}
			}
			if kind != c.kind || !strings.Contains(r.Text, c.says) {
				t.Fatalf("failure %+v, text %q", r.Failure, r.Text)
			}
		})
	}
}

func TestAPluginIsStoppedWhenItsFuelIsSpent(t *testing.T) {
	s := open(t)
	manifest := `{"manifest":1,"name":"bad","version":"1","limits":{"fuel":1000000}}`
	if err := s.install(t, map[string][]byte{"bad.wasm": guesttest.Packed(t, guesttest.Bad(guesttest.Loops),
		manifest)}); err != nil {
		t.Fatal(err)
	}
	r := s.call(t, "bad", `{}`)
	if r.Failure == nil || r.Failure.Kind != tool.FailureQuota || !strings.Contains(r.Text, "computing budget") {
		t.Fatalf("failure %+v, text %q", r.Failure, r.Text)
	}
	if r.Fuel < 1_000_000 {
		t.Errorf("%d instructions are reported, want the whole budget", r.Fuel)
	}
}

func TestABadFileIsRefusedWithASentence(t *testing.T) {
	good := guesttest.Bad(guesttest.Answers + `{"content":[]}`)
	s := open(t)
	for _, c := range guesttest.BadFiles(t, built.Search) {
		t.Run(c.Name, func(t *testing.T) {
			err := s.install(t, map[string][]byte{"bad.wasm": c.WASM, "good.wasm": good})
			wantFault(t, err, c.Kind)
			if !strings.Contains(err.Error(), c.Says) {
				t.Errorf("error is %v, want it to say %q", err, c.Says)
			}
			list, err := s.manager.List(t.Context(), anOperator)
			if err != nil || len(list) != 1 || list[0].Name != "good" {
				t.Errorf("the good one beside it is not installed: %+v, %v", list, err)
			}
		})
	}
}

func TestAnInstallTellsWhatIsNotServedYet(t *testing.T) {
	log := &lines{}
	s := open(t, func(s *scene) { s.logger = slog.New(log) })
	wasm := guesttest.Packed(t, guesttest.Bad(guesttest.Answers),
		`{"manifest":1,"name":"bad","version":"1","capabilities":{"image":{}}}`)
	if err := s.install(t, map[string][]byte{"bad.wasm": wasm}); err != nil {
		t.Fatal(err)
	}
	list, err := s.manager.List(t.Context(), anOperator)
	if err != nil || len(list) != 1 || !strings.Contains(list[0].Grants[0].Sentence,
		"does not serve the capability image yet") {
		t.Errorf("listed is %+v, %v", list, err)
	}
	if !strings.Contains(strings.Join(log.all, " "), "not served") {
		t.Errorf("logged is %q", log.all)
	}
}
