package ulid

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestIDsSortInTheOrderInWhichTheyWereMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.UnixMilli(1_700_000_000_000)
		ids := NewSource(func() time.Time { return now })
		last := ""
		for _, step := range rapid.SliceOfN(rapid.IntRange(-3, 3), 1, 50).Draw(t, "milliseconds") {
			now = now.Add(time.Duration(step) * time.Millisecond)
			id := ids.Next("m")
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
