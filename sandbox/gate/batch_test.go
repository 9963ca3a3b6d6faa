package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/audit/audittest"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

type fetchArgs struct {
	URL string `json:"url"`
}

// fetching is a gate whose http_fetch refuses "closed" before it is made and
// "rebound" while it is, panics for "panic", and answers others with their name.
func fetching(t *testing.T, asker gate.Asker, mode capability.Mode, during func(url string)) (*gate.Call, *audit.Log) {
	t.Helper()
	fetch := gate.Typed[fetchArgs]{
		Name: "http_fetch", Capability: capability.HTTP, Summary: func(a fetchArgs) string { return "fetch " + a.URL },
		Handle: func(_ context.Context, _ gate.Request, a fetchArgs) (any, error) {
			if during != nil {
				during(a.URL)
			}
			switch a.URL {
			case "rebound":
				return nil, gate.Errorf(gate.Denied, "It leads inside.")
			case "panic":
				panic("a handler's panic")
			}
			return map[string]string{"body": a.URL}, nil
		},
		Admit: func(_ context.Context, r gate.Request, a fetchArgs) error {
			switch {
			case r.Right.Capability != capability.HTTP:
				return fmt.Errorf("the right is missing")
			case a.URL == "closed":
				return gate.Errorf(gate.Denied, "It is not on the list.")
			case a.URL == "odd":
				return fmt.Errorf("a fault of ours")
			}
			return nil
		},
	}.Function()
	m, err := capability.ParseManifest([]byte(`{"manifest":1,"name":"web","version":"1","capabilities":{"http":{"allow":[{"host":"*"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	log := audit.New(&audittest.Space{}, time.Now)
	g, err := gate.New(gate.Config{
		Functions: []gate.Function{fetch, {Name: "http_fetch_all", Capability: capability.HTTP, Batch: "http_fetch"}},
		Grants:    &grants{held: capability.Grants{capability.HTTP: {Capability: capability.HTTP, Mode: mode}}},
		Audit:     log, Asker: asker, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g.Open(gate.CallInfo{Plugin: "web", Manifest: m}, nil), log
}

func batch(urls ...string) []byte {
	requests := make([]fetchArgs, len(urls))
	for i, u := range urls {
		requests[i].URL = u
	}
	out, _ := json.Marshal(map[string]any{"requests": requests})
	return out
}

func TestEachEntryOfABatchIsAHostCall(t *testing.T) {
	c, log := fetching(t, nil, capability.Allow, nil)
	out := c.Host("http_fetch_all")(t.Context(), batch("a", "closed", "rebound", "panic", "b", "odd"))
	var answer struct {
		OK struct {
			Results []struct {
				OK    map[string]string
				Error struct{ Kind, Message string }
			}
		}
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	var got []string
	for _, r := range answer.OK.Results {
		got = append(got, r.OK["body"]+r.Error.Kind)
	}
	if want := []string{"a", "denied", "denied", "failed", "b", "denied"}; !slices.Equal(got, want) {
		t.Errorf("results are %q, want %q", got, want)
	}
	got = nil
	for _, h := range c.HostCalls() {
		got = append(got, h.Summary+" "+string(h.Decision)+" "+h.Outcome)
	}
	want := []string{"fetch a allow ok", "fetch closed deny denied", "fetch rebound deny denied",
		"fetch panic allow failed", "fetch b allow ok", "fetch odd deny denied"}
	if !slices.Equal(got, want) {
		t.Errorf("host calls are %q, want %q", got, want)
	}
	entries, err := log.Tail(100)
	if err != nil {
		t.Fatal(err)
	}
	decisions := map[string]string{}
	for _, e := range entries {
		if e.Function != "http_fetch" {
			t.Errorf("on record is %+v", e)
		}
		decisions[e.Summary] += e.Decision + " "
	}
	// What was denied while it was made is on record twice: as it began, as it ended.
	if decisions["fetch a"] != "allow " || decisions["fetch closed"] != "deny " ||
		!strings.HasSuffix(decisions["fetch rebound"], "deny ") || len(entries) != 7 {
		t.Errorf("on record are %v", decisions)
	}
}

func TestABatchRunsSideBySide(t *testing.T) {
	var came atomic.Int32
	all := make(chan struct{})
	c, _ := fetching(t, nil, capability.Allow, func(string) { // returns when ten are here
		if came.Add(1) == 10 {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(2 * time.Minute):
			t.Errorf("%d of ten are here", came.Load())
		}
	})
	out := c.Host("http_fetch_all")(t.Context(), batch("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"))
	if strings.Count(string(out), `"body"`) != 10 {
		t.Errorf("answer is %s", out)
	}
}

func TestABadBatchIsOneRefusal(t *testing.T) {
	c, _ := fetching(t, nil, capability.Allow, nil)
	for _, in := range []string{``, `[]`, `{}`, `{"requests":[]}`, `{"requests":[{"url":"a"}],"more":1}`,
		`{"requests":"a"}`, "\xff",
		string(batch(make([]string, gate.MaxBatch+1)...)),
		`{"requests":[{"url":"` + strings.Repeat("a", gate.MaxArgs) + `"}]}`} {
		if out := string(c.Host("http_fetch_all")(t.Context(), []byte(in))); !strings.HasPrefix(out,
			`{"error":{"kind":"`) {
			t.Errorf("%.60q gives %.200s", in, out)
		}
	}
	for _, h := range c.HostCalls() {
		if h.Decision != capability.Deny {
			t.Errorf("host call %+v", h)
		}
	}
	out := string(c.Host("http_fetch_all")(t.Context(), []byte(`{"requests":[{"url":"a"},{"uri":"b"},7]}`)))
	if strings.Count(out, `"invalid"`) != 2 || strings.Count(out, `"body"`) != 1 {
		t.Errorf("a batch with bad entries gives %s", out)
	}
}

func TestNobodyIsAskedAboutWhatTheListRefuses(t *testing.T) {
	a := &asker{yes: true}
	c, _ := fetching(t, a, capability.Ask, nil)
	if out := string(c.Host("http_fetch")(t.Context(), []byte(`{"url":"closed"}`))); !strings.Contains(out,
		"not on the list") || len(a.asked) != 0 {
		t.Errorf("asked %d times: %s", len(a.asked), out)
	}
	if out := string(c.Host("http_fetch")(t.Context(), []byte(`{"url":"a"}`))); !strings.Contains(out, `"body":"a"`) ||
		len(a.asked) != 1 {
		t.Errorf("asked %d times: %s", len(a.asked), out)
	}
}

func TestABatchNeedsItsFunction(t *testing.T) {
	for _, f := range []gate.Function{
		{Name: "http_fetch_all", Capability: capability.HTTP, Batch: "http_fetch"},
		{Name: "http_fetch_all", Capability: capability.HTTP, Batch: "http_fetch_all"},
		{Name: "http_fetch_all", Capability: capability.HTTP},
	} {
		if _, err := gate.New(gate.Config{Functions: []gate.Function{f}}); err == nil {
			t.Errorf("%+v was taken", f)
		}
	}
}
