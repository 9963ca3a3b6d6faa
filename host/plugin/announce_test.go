package plugin_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
)

// announce has a call of the plugin say n times in a row that its list has changed.
func (s *scene) announce(t *testing.T, n int) {
	t.Helper()
	if r := s.call(t, "one", fmt.Sprintf(`{"announce":%d}`, n)); r.Failure != nil {
		t.Fatalf("%+v", r.Failure)
	}
}

// listed is how many lists were made, by the audit log, when nothing runs any more.
func (s *scene) listed(t *testing.T) int {
	t.Helper()
	synctest.Wait()
	entries, err := s.log.Tail(math.MaxInt32)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if e.Tool == "list_tools" && e.Kind == audit.KindToolCall {
			n++
		}
	}
	return n
}

// TestAPluginThatAnnouncesInALoopIsListedWithPauses has calls that announce a thousand times
// each. The first list comes at once, each later one after a longer pause, and at last one a
// minute. Time is the test's own.
func TestAPluginThatAnnouncesInALoopIsListedWithPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := withDynamic(t)
		s.configure(t, "one two")
		before := s.listed(t)
		want := func(when string, n int) {
			t.Helper()
			if got := s.listed(t) - before; got != n {
				t.Errorf("%s: %d lists, want %d", when, got, n)
			}
		}
		flood := func() {
			t.Helper()
			for range 3 {
				s.announce(t, 1000)
			}
		}
		flood()
		want("at once", 1)
		for n, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			flood()
			time.Sleep(pause - time.Millisecond)
			want("within a pause", n+1)
			time.Sleep(time.Millisecond)
			want("after a pause", n+2)
		}
		before = s.listed(t)
		for range 600 {
			s.announce(t, 10)
			time.Sleep(time.Second)
		}
		if got := s.listed(t) - before; got < 10 || got > 14 {
			t.Errorf("%d lists in ten minutes of announcements", got)
		}
		time.Sleep(10 * time.Minute)
		before = s.listed(t)
		s.announce(t, 1)
		want("after a quiet time", 1)
	})
}

// TestTheLastAnnouncementIsNotLost changes the tools within a pause, and while an operator
// changes something that comes to nothing.
func TestTheLastAnnouncementIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := withDynamic(t)
		s.configure(t, "one two")
		s.announce(t, 1)
		synctest.Wait()
		s.change(t, "first")
		s.change(t, "second")
		synctest.Wait()
		s.want(t, "within a pause", "one: , two: ", "")
		time.Sleep(time.Second)
		synctest.Wait()
		s.want(t, "after it", "", "one:  became one: second, two:  became two: second")
		time.Sleep(10 * time.Minute)

		if err := s.manager.AcceptTools(t.Context(), anOperator, "dyn", s.described(t).HeldDigest); err != nil {
			t.Fatal(err)
		}
		over := s.manager.Act("dyn")
		s.change(t, "third")
		synctest.Wait()
		s.want(t, "while an operator acts", "one: second, two: second", "")
		over()
		time.Sleep(time.Minute)
		synctest.Wait()
		s.want(t, "after an act without a list", "", "one: second became one: third, two: second became two: third")
	})
}

// change has the plugin change its descriptions and announce it.
func (s *scene) change(t *testing.T, about string) {
	t.Helper()
	if r := s.call(t, "one", fmt.Sprintf(`{"about":%q}`, about)); r.Failure != nil {
		t.Fatalf("%+v", r.Failure)
	}
}

// TestAListThatFailsIsNotMadeAgainUnasked has a plugin announce a list that is too long, which
// is asked for as often as it was announced, and leaves the old one.
func TestAListThatFailsIsNotMadeAgainUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := withDynamic(t)
		s.configure(t, "one")
		s.configure(t, tooMany())
		before := s.listed(t)
		s.announce(t, 1000)
		time.Sleep(time.Hour)
		if got := s.listed(t) - before; got < 1 || got > 2 {
			t.Errorf("%d lists were made in an hour after one loop of announcements", got)
		}
		if r := s.call(t, "one", `{}`); r.Failure != nil && r.Failure.Kind == tool.FailureUnavailable {
			t.Errorf("the old list is gone: %+v", r.Failure)
		}
	})
}
