package trial_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/extractive"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
	"github.com/bulkhead-host/bulkhead/host/llm/trial"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// try runs a trial of a scripted server through the real client.
func try(t *testing.T, replies ...*llmtest.Reply) (trial.Report, *llmtest.Server) {
	t.Helper()
	server, err := llmtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	server.Add(replies...)
	report := tryAt(t, server.URL())
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	return report, server
}

func tryAt(t *testing.T, url string) trial.Report {
	t.Helper()
	m, err := openai.New(openai.Config{Name: "m", BaseURL: url, Model: "m", APIKey: llm.NewKey("sk-hidden"),
		Sleep:      func(context.Context, time.Duration) error { return nil },
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return trial.Run(t.Context(), m, time.Now)
}

// states are the checks in short: "reachable:ok key:ok …".
func states(r trial.Report) string {
	var out []string
	for _, c := range r.Checks {
		out = append(out, c.Name+":"+string(c.State))
	}
	return strings.Join(out, " ")
}

func count() *llmtest.Reply { return llmtest.Answer().Text("one, ", "two, ", "three") }

func TestReportSaysWhatWorks(t *testing.T) {
	call := func(name, arguments string) *llmtest.Reply { return llmtest.Answer().ToolCall("c", name, arguments) }
	for name, tc := range map[string]struct {
		replies []*llmtest.Reply
		works   bool
		want    string
	}{
		"everything": {[]*llmtest.Reply{count(), call("tide_table", `{"place":"Skerryvore"}`)}, true,
			"reachable:ok key:ok answers:ok streams:ok tools:ok"},
		"one piece": {[]*llmtest.Reply{llmtest.Answer().Text("one"), call("tide_table", `{"place":"S"}`)}, true,
			"reachable:ok key:ok answers:ok streams:doubtful tools:ok"},
		"no call": {[]*llmtest.Reply{count(), llmtest.Answer().Text("High.")}, true,
			"reachable:ok key:ok answers:ok streams:ok tools:doubtful"},
		"a call as text": {[]*llmtest.Reply{count(), llmtest.Answer().Text(`{"name":"tide_table"}`)}, true,
			"reachable:ok key:ok answers:ok streams:ok tools:doubtful"},
		"broken arguments": {[]*llmtest.Reply{count(), call("tide_table", `{"pl`)}, true,
			"reachable:ok key:ok answers:ok streams:ok tools:doubtful"},
		"another tool": {[]*llmtest.Reply{count(), call("moon", `{}`)}, true,
			"reachable:ok key:ok answers:ok streams:ok tools:doubtful"},
		"tools refused": {[]*llmtest.Reply{count(),
			llmtest.Status(400, `{"error":{"message":"m cannot be asked so"}}`)}, true,
			"reachable:ok key:ok answers:ok streams:ok tools:failed"},
		"tools as text": {[]*llmtest.Reply{count(),
			llmtest.Status(400, `{"error":{"message":"m does not support tools"}}`),
			llmtest.Answer().Text(`<tool_call>{"name": "tide_table", "arguments": {"place": "S"}}</tool_call>`)}, true,
			"reachable:ok key:ok answers:ok streams:ok tools:doubtful"},
		"bad key": {[]*llmtest.Reply{llmtest.Status(401, `{"error":{"message":"sk-hidden is wrong"}}`)}, false,
			"reachable:ok key:failed answers:skipped streams:skipped tools:skipped"},
		"no such model": {[]*llmtest.Reply{llmtest.Status(404,
			`{"error":{"code":"model_not_found","message":"no m"}}`)}, false,
			"reachable:ok key:ok answers:failed streams:skipped tools:skipped"},
		"a fault": {[]*llmtest.Reply{llmtest.Status(500, `{}`)}, false,
			"reachable:ok key:skipped answers:failed streams:skipped tools:skipped"},
		"broken off": {[]*llmtest.Reply{llmtest.Answer().Text("one", "two").Unfinished()}, false,
			"reachable:ok key:ok answers:failed streams:ok tools:skipped"},
		"only thoughts": {[]*llmtest.Reply{llmtest.Answer().Reasoning("hm", "hm")}, false,
			"reachable:ok key:ok answers:failed streams:ok tools:skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			r, server := try(t, tc.replies...)
			if got := states(r); got != tc.want || r.Works != tc.works {
				t.Errorf("works %v, %s\nwant %v, %s\n%+v", r.Works, got, tc.works, tc.want, r.Checks)
			}
			for _, c := range r.Checks {
				if strings.Contains(c.Message, "sk-hidden") || strings.Contains(c.Message, "saved") {
					t.Errorf("the key, or a message that is saved, shows in %q", c.Message)
				}
			}
			if asked := server.Requests(); len(tc.replies) == 2 &&
				(len(asked) != 2 || asked[0].Offers("tide_table") || !asked[1].Offers("tide_table")) {
				t.Errorf("the server was asked %d times", len(asked))
			}
		})
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	r := tryAt(t, "http://127.0.0.1:1/v1")
	if got, want := states(r), "reachable:failed key:skipped answers:skipped streams:skipped tools:skipped"; got != want || r.Works {
		t.Errorf("got %s, want %s", got, want)
	}
	if !strings.Contains(r.Checks[0].Message, "127.0.0.1:1") {
		t.Errorf("the message is %q", r.Checks[0].Message)
	}
}

// TestTheBuiltInModelPasses tries the model that knows tools by their names only.
func TestTheBuiltInModelPasses(t *testing.T) {
	report := trial.Run(t.Context(), extractive.New(), time.Now)
	if got := states(report); !report.Works || got != "reachable:ok key:ok answers:ok streams:ok tools:ok" {
		t.Errorf("works %t, %s", report.Works, got)
	}
}
