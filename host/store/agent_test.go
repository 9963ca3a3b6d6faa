package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

func addAgent(t *testing.T, s *Store, record Agent) Agent {
	t.Helper()
	a, err := s.Agents().Create(t.Context(), anOperator, record)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAgentsAreKeptChangedAndRemoved(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		clock := newClock()
		s := open(Options{Now: clock.now})
		tutor := addAgent(t, s, Agent{ID: "mine", Name: " Tutor ", Instructions: "Ask back.\n",
			Tools: []string{"clock", " search", "clock"}, Model: "near", MaxCycles: 3})
		all := addAgent(t, s, Agent{Name: "all"})
		none := addAgent(t, s, Agent{Name: "None", Tools: []string{}})
		if tutor.ID == "mine" || tutor.Name != "Tutor" || tutor.Instructions != "Ask back." ||
			!slices.Equal(tutor.Tools, []string{"clock", "search"}) {
			t.Errorf("%+v", tutor)
		}
		list, err := s.Agents().List(t.Context(), anOperator)
		if err != nil || len(list) != 3 || list[0].ID != all.ID || list[1].ID != none.ID || list[2].ID != tutor.ID {
			t.Fatalf("%+v, %v", list, err)
		}
		if !list[0].Names("clock") || list[1].Names("clock") || !list[2].Names("clock") || list[2].Names("gone") {
			t.Errorf("the lists of tools did not stay as they were: %+v", list)
		}
		clock.advance(time.Hour)
		changed, err := s.Agents().Change(t.Context(), anOperator, tutor.ID,
			func(a *Agent) { a.Name, a.Tools, a.ID = "TUTOR", nil, "x" })
		if err != nil || changed.ID != tutor.ID || changed.Name != "TUTOR" || changed.Tools != nil ||
			changed.Model != "near" ||
			!changed.CreatedAt.Equal(tutor.CreatedAt) || !changed.UpdatedAt.After(tutor.UpdatedAt) {
			t.Errorf("%+v, %v", changed, err)
		}
		if kept, err := s.Agents().Get(t.Context(), anOperator, tutor.ID); err != nil || kept.Name != "TUTOR" ||
			kept.Tools != nil {
			t.Errorf("%+v, %v", kept, err)
		}
		if _, err := s.Agents().Change(t.Context(), anOperator, tutor.ID,
			func(a *Agent) { a.Name = "ALL" }); !errors.Is(err, ErrExists) {
			t.Errorf("another's name: %v", err)
		}
		if err := s.Agents().Delete(t.Context(), anOperator, tutor.ID); err != nil {
			t.Fatal(err)
		}
		_, change := s.Agents().Change(t.Context(), anOperator, tutor.ID, func(*Agent) {})
		_, read := s.Agents().Get(t.Context(), anOperator, tutor.ID)
		for _, err := range []error{change, read, s.Agents().Delete(t.Context(), anOperator, tutor.ID)} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("got %v, want ErrNotFound", err)
			}
		}
		addAgent(t, s, Agent{Name: "tutor"}) // the name is free again
		if problems := s.Check(t.Context()); len(problems) > 0 {
			t.Error(problems)
		}
	})
}

func TestAnAgentOutOfItsLimitsIsRefusedAndTheOldOneStays(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		kept := addAgent(t, s, Agent{Name: strings.Repeat("ä", MaxAgentNameRunes),
			Instructions: strings.Repeat("x", MaxInstructionBytes), MaxCycles: MaxAgentCycles})
		many := make([]string, MaxAgentTools+1)
		for i := range many {
			many[i] = fmt.Sprint("t", i)
		}
		for i, bad := range []Agent{
			{}, {Name: " "}, {Name: "a\nb"}, {Name: "\xff"}, {Name: strings.Repeat("ä", MaxAgentNameRunes+1)},
			{Name: "a", Instructions: strings.Repeat("x", MaxInstructionBytes+1)}, {Name: "a", Instructions: "a\x00b"},
			{Name: "a", Instructions: "\xff"},
			{Name: "a", MaxCycles: -1}, {Name: "a", MaxCycles: MaxAgentCycles + 1},
			{Name: "a", Tools: many}, {Name: "a", Tools: []string{""}}, {Name: "a", Tools: []string{"a\x00"}},
			{Name: "a", Tools: []string{strings.Repeat("x", 300)}},
			{Name: "a", Model: "a\tb"}, {Name: "a", Model: strings.Repeat("x", 300)},
		} {
			if _, err := s.Agents().Create(t.Context(), anOperator, bad); !errors.Is(err, ErrInvalid) {
				t.Errorf("create %d: %v", i, err)
			}
			if _, err := s.Agents().Change(t.Context(), anOperator, kept.ID,
				func(a *Agent) { *a = bad }); !errors.Is(err, ErrInvalid) {
				t.Errorf("change to %d: %v", i, err)
			}
		}
		if _, err := s.Agents().Create(t.Context(), anOperator,
			Agent{Name: strings.ToUpper(kept.Name)}); !errors.Is(err, ErrExists) {
			t.Errorf("the same name: %v", err)
		}
		if list, err := s.Agents().List(t.Context(), anOperator); err != nil || len(list) != 1 ||
			list[0].Name != kept.Name || len(list[0].Instructions) != MaxInstructionBytes {
			t.Errorf("%d agents, %v", len(list), err)
		}
	})
}

func TestAgentsHaveALimit(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		err := s.update(t.Context(), func(tx kv.Tx) error {
			for i := range MaxAgents {
				if err := putAgent(tx, Agent{ID: s.newID("ag"), Name: fmt.Sprint(i)}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Agents().Create(t.Context(), anOperator, Agent{Name: "one more"}); !errors.Is(err, ErrFull) {
			t.Errorf("got %v", err)
		}
	})
}

func TestADamagedAgentHidesNoOther(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		bad, good := addAgent(t, s, Agent{Name: "bad"}), addAgent(t, s, Agent{Name: "good"})
		if err := s.update(t.Context(), func(tx kv.Tx) error {
			return table.Agents.PutRaw(tx, bad.ID,
				[]byte("{"))
		}); err != nil {
			t.Fatal(err)
		}
		list, err := s.Agents().List(t.Context(), anOperator)
		var record *RecordError
		if !errors.As(err, &record) || record.Key != bad.ID || len(list) != 1 || list[0].ID != good.ID {
			t.Errorf("%+v, %v", list, err)
		}
		if problems := s.Check(t.Context()); len(problems) != 1 || problems[0].Key != bad.ID {
			t.Errorf("%+v", problems)
		}
	})
}

func TestCheckFindsAnAgentsLostName(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		a := addAgent(t, s, Agent{Name: "Tutor"})
		err := s.update(t.Context(), func(tx kv.Tx) error {
			return errors.Join(table.AgentNames.Delete(tx, "tutor"),
				table.AgentNames.PutRaw(tx, "ghost", []byte("ag_gone")))
		})
		if err != nil {
			t.Fatal(err)
		}
		problems := s.Check(t.Context())
		if len(problems) != 2 || problems[0].Key != a.ID || problems[1].Key != "ghost" {
			t.Errorf("%+v", problems)
		}
	})
}
