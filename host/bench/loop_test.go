package bench

import (
	"context"
	"testing"
	"time"
)

// TestEveryTokenIsTimedOnItsWay: a small load gives all its figures.
func TestEveryTokenIsTimedOnItsWay(t *testing.T) {
	results, err := load{turns: 3, tokens: 5, every: time.Millisecond}.measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 4 {
		t.Fatalf("%d figures", len(results))
	}
	for _, r := range results {
		if r.Value <= 0 || r.ReferenceValue != nil && *r.ReferenceValue <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestATurnThatIsEndedIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newTimedTurn(1).run(ctx, "http://127.0.0.1:1/v1", 0); err == nil {
		t.Error("no error")
	}
}

func TestAllocationsAreCounted(t *testing.T) {
	results, err := loopTokenAllocs(t.Context())
	if err != nil || len(results) != 1 || results[0].Value <= 0 || *results[0].ReferenceValue <= 0 {
		t.Errorf("%+v, %v", results, err)
	}
}
