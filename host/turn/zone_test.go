package turn

import (
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
)

// TestTodayIsThePersons: five minutes past midnight in UTC it is the day before in New
// York, in the question, in another answer to it and where an answer goes on.
func TestTodayIsThePersons(t *testing.T) {
	f := newFixture(t)
	f.cfg.Now = func() time.Time { return time.Date(2026, 3, 2, 0, 5, 0, 0, time.UTC) }
	day := func() string {
		all := f.server.Requests()
		_, rest, _ := strings.Cut(all[len(all)-1].Body.Messages[0].Content, "Today is ")
		today, _, _ := strings.Cut(rest, ".")
		return today
	}
	const there, here = "Sunday, 1 March 2026", "Monday, 2 March 2026"
	for _, c := range []struct{ zone, want string }{
		{"America/New_York", there}, {"Asia/Tokyo", here}, {"", here}, {"Mars/Olympus", here}, {"Local", here},
		{strings.Repeat("x", 100), here}, {"../etc/passwd", here},
	} {
		f.server.Add(llmtest.Answer().Text("A"))
		f.read(f.send(Send{Text: "What day is it?", Zone: c.zone}).Run)
		if got := day(); got != c.want {
			t.Errorf("%q: %q, want %q", c.zone, got, c.want)
		}
	}
	f.server.Add(llmtest.Answer().Text("A"), llmtest.Answer().Text("B"))
	ack := f.send(Send{Text: "What day is it?", Zone: "America/New_York"})
	f.read(ack.Run)
	again, err := f.Regenerate(t.Context(), f.owner, Regenerate{MessageID: ack.MessageIDs[0]})
	if err != nil {
		t.Fatal(err)
	}
	f.read(again.Run)
	if got := day(); got != there {
		t.Errorf("another answer: %q", got)
	}
	f.server.Add(llmtest.Answer().Text("C"))
	on, err := f.Continue(t.Context(), f.owner, Continue{MessageID: again.MessageIDs[0]})
	if err != nil {
		t.Fatal(err)
	}
	f.read(on.Run)
	if got := day(); got != there {
		t.Errorf("an answer that goes on: %q", got)
	}
}
