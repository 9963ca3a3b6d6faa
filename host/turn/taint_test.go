package turn

import (
	"context"
	"slices"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// diary is a tool that reads private data.
type diary struct{}

func (diary) Spec() tool.Spec {
	return tool.Spec{Name: "diary", Title: "Diary", Labels: []string{tool.LabelPrivateData}}
}

func (diary) Call(context.Context, tool.Invocation) (tool.Result, error) {
	return tool.Result{Text: "Dear diary"}, nil
}

// ears is a tool that keeps what it was told that the path had met.
type ears struct{ met *[]string }

func (ears) Spec() tool.Spec { return tool.Spec{Name: "listen", Title: "Listen"} }

func (l ears) Call(_ context.Context, in tool.Invocation) (tool.Result, error) {
	*l.met = in.Met
	return tool.Result{Text: "heard"}, nil
}

// TestTaintStaysOnThePathWhateverIsOnOffer reads private data, and asks again with an
// allow-list without the tool that read it, then with that tool gone, then after a
// restart: each time the path has met private data. Another branch has not.
func TestTaintStaysOnThePathWhateverIsOnOffer(t *testing.T) {
	f := newFixture(t)
	f.close()
	var met []string
	installed := []tool.Tool{diary{}, ears{&met}}
	f.tools = func() []tool.Tool { return installed }
	f.open()
	f.server.Add(llmtest.Answer().ToolCall("a", "diary", "{}"), llmtest.Answer().Text("Read."))
	first := f.send(Send{Text: "What did I write?"})
	f.read(first.Run)
	listens := func(in Send) []string {
		t.Helper()
		met = nil
		f.server.Add(llmtest.Answer().ToolCall("b", "listen", "{}"), llmtest.Answer().Text("Heard."))
		f.read(f.send(in).Run)
		return met
	}
	private := []string{tool.LabelPrivateData}
	if got := listens(Send{SessionID: first.SessionID, Text: "And now?", Tools: []string{"listen"}}); !slices.Equal(got,
		private) {
		t.Errorf("with another allow-list the path has met %q", got)
	}
	installed = installed[1:]
	if got := listens(Send{SessionID: first.SessionID, Text: "And now?"}); !slices.Equal(got, private) {
		t.Errorf("with the tool gone the path has met %q", got)
	}
	f.reopen()
	if got := listens(Send{SessionID: first.SessionID, Text: "And now?"}); !slices.Equal(got, private) {
		t.Errorf("after a restart the path has met %q", got)
	}
	if got := listens(Send{SessionID: first.SessionID, ParentMessageID: RootMessage, Text: "Anew."}); len(got) != 0 {
		t.Errorf("another branch has met %q", got)
	}
}
