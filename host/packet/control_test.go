package packet

import (
	"strings"
	"testing"
)

func TestRunReason(t *testing.T) {
	for _, tc := range []struct {
		name   string
		models []StopReason
		want   StopReason
	}{
		{"no model", nil, StopError},
		{"one", []StopReason{StopInterrupted}, StopInterrupted},
		{"common", []StopReason{StopUserCancelled, StopUserCancelled}, StopUserCancelled},
		{"a question wins", []StopReason{StopCompleted, StopAwaitingUser, StopError}, StopAwaitingUser},
		{"an answer beats the rest", []StopReason{StopError, StopUserCancelled, StopCompleted}, StopCompleted},
		{"stopped beats interrupted", []StopReason{StopInterrupted, StopUserCancelled}, StopUserCancelled},
		{"interrupted beats error", []StopReason{StopError, StopInterrupted}, StopInterrupted},
		{"all failed", []StopReason{StopError, StopError}, StopError},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := RunReason(tc.models); got != tc.want {
				t.Fatalf("RunReason(%v) = %s, want %s", tc.models, got, tc.want)
			}
		})
	}
}

func TestEveryCodeHasASentence(t *testing.T) {
	for code, info := range Codes {
		if !strings.HasSuffix(info.Message, ".") || strings.Contains(info.Message, "!") {
			t.Errorf("%s: %q is not a plain sentence", code, info.Message)
		}
	}
	if e := NewError(CodeModelAuth, ""); e.Message != Codes[CodeModelAuth].Message || e.Retryable {
		t.Errorf("NewError does not take the code's own sentence and flag: %+v", e)
	}
	if n := NewNotice(CodeCutOff, "Own words."); n.Message != "Own words." {
		t.Errorf("NewNotice drops the message: %+v", n)
	}
}

type record struct {
	places []Placement
	objs   []Obj
}

func (r *record) Append(place Placement, obj Obj) {
	r.places = append(r.places, place)
	r.objs = append(r.objs, obj)
}

func TestEmitterStampsItsModel(t *testing.T) {
	var r record
	other := 7
	place := At(2, 1)
	place.ModelIndex = &other
	NewEmitter(&r, 3).Emit(place, MessageEnd{})
	RunEmitter(&r).Emit(place, Stop{Reason: StopCompleted})
	Emitter{}.Emit(place, MessageEnd{}) // discards
	if len(r.objs) != 2 {
		t.Fatalf("%d packets, want 2", len(r.objs))
	}
	if got := r.places[0].Key(); got != (Key{3, 2, 1, -1, -1}) {
		t.Errorf("the model's packet is at %s", got)
	}
	if r.places[1].ModelIndex != nil {
		t.Errorf("the run's packet has the model index %d", *r.places[1].ModelIndex)
	}
}

func TestKeysTellBlocksApart(t *testing.T) {
	seen := map[Key]string{}
	for _, p := range []Placement{
		At(1, 0), At(0, 1), At(1, 0).ForModel(0), At(1, 0).ForModel(1),
		At(1, 0).ForModel(0).Nested(0, 0), At(1, 0).ForModel(0).Nested(0, 1), At(1, 0).ForModel(0).Nested(1, 0),
	} {
		if other, dup := seen[p.Key()]; dup {
			t.Errorf("%s and %s share a key", other, p.Key())
		}
		seen[p.Key()] = p.Key().String()
	}
}
