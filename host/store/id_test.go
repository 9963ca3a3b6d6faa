package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestIDsSortInTheOrderInWhichTheyWereMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := newClock()
		ids := &idSource{now: clock.now}
		last := ""
		for _, step := range rapid.SliceOfN(rapid.IntRange(-3, 3), 1, 50).Draw(t, "milliseconds") {
			clock.advance(time.Duration(step) * time.Millisecond)
			id := ids.next("m")
			if id <= last || !strings.HasPrefix(id, "m_") || len(id) != 2+ulidLen {
				t.Fatalf("%q came after %q", id, last)
			}
			last = id
		}
	})
}

func TestULIDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := ulid{hi: rapid.Uint64().Draw(t, "hi"), lo: rapid.Uint64().Draw(t, "lo")}
		if back, ok := parseULID(u.String()); !ok || back != u {
			t.Fatalf("%v became %s became %v", u, u, back)
		}
	})
	for _, bad := range []string{"", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "0000000000000000000000000U", "short"} {
		if _, ok := parseULID(bad); ok {
			t.Errorf("%q was read as a ULID", bad)
		}
	}
	// The example of the ULID specification: its time is 1469918176385.
	if u, ok := parseULID("01ARYZ6S41TSV4RRFFQ69G5FAV"); !ok || u.hi>>16 != 1469918176385 {
		t.Errorf("the specification's example was read as %v", u)
	}
}

func TestIDsGoOnAfterARestartWithAnOlderClock(t *testing.T) {
	clock := newClock()
	s := openTest(t, Options{Now: clock.now})
	before := ask(t, s, newUser(t, s, "ada"), "", "hello")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clock.advance(-365 * 24 * time.Hour)
	again, err := Open(s.Path(), Options{Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { err = errors.Join(err, again.Close()) }()
	if id := again.newID("m"); id <= before.Responses[0].ID {
		t.Errorf("%s sorts before %s", id, before.Responses[0].ID)
	}
}
