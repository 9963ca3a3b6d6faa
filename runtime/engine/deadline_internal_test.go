package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// living returns a module that is good for deadlines only.
func living(t *testing.T) *Module {
	m := &Module{}
	m.life, m.kill = context.WithCancel(context.Background())
	t.Cleanup(m.kill)
	return m
}

func isDone(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// TestDeadlineIsDone has each thing that ends a call end it, once when nobody waits and
// once when somebody does.
func TestDeadlineIsDone(t *testing.T) {
	type scene struct {
		m      *Module
		d      *deadline
		cancel context.CancelFunc
	}
	for name, c := range map[string]struct {
		end        func(s scene)
		err, cause error
	}{
		"its end": {func(s scene) { s.d.end() }, context.Canceled, context.Canceled},
		"its time": {func(s scene) { time.Sleep(time.Minute); <-s.d.Done() }, context.Canceled,
			context.DeadlineExceeded},
		"the caller": {func(s scene) { s.cancel() }, context.Canceled, context.Canceled},
		"the module": {func(s scene) { s.m.kill() }, context.Canceled, context.Canceled},
		"its time, then its end": {func(s scene) { time.Sleep(time.Minute); <-s.d.Done(); s.d.end() }, context.Canceled,
			context.DeadlineExceeded},
	} {
		for _, waited := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := scene{m: living(t)}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s.cancel = cancel
				s.d = s.m.withDeadline(ctx, time.Now(), time.Minute)
				defer s.d.end()
				if waited && isDone(s.d) || s.d.Err() != nil {
					t.Fatalf("%s: done at once", name)
				}
				c.end(s)
				synctest.Wait()
				if err := s.d.Err(); err != c.err {
					t.Errorf("%s, waited for %t: the error is %v", name, waited, err)
				}
				if cause := context.Cause(s.d); cause != c.cause {
					t.Errorf("%s, waited for %t: the cause is %v", name, waited, cause)
				}
				derived, stop := context.WithCancel(s.d)
				defer stop()
				if !isDone(s.d) || !isDone(derived) || context.Cause(derived) != c.cause {
					t.Errorf("%s, waited for %t: not done, or with another cause for what is derived", name, waited)
				}
			})
		}
	}
}

// TestDeadlineKeepsValues asks the context for what the caller's has, at each stage.
func TestDeadlineKeepsValues(t *testing.T) {
	type key struct{}
	m := living(t)
	outer := m.withDeadline(context.WithValue(t.Context(), key{}, "value"), time.Now(), time.Hour)
	defer outer.end()
	d := m.withDeadline(outer, time.Now(), time.Hour)
	holds := func(when string) {
		t.Helper()
		if d.Value(key{}) != "value" || d.Value(deadlineKey{}) != d || outer.Value(deadlineKey{}) != outer {
			t.Errorf("%s: a value is not that of the context", when)
		}
	}
	holds("before")
	d.Done()
	holds("armed")
	d.end()
	holds("ended")
	unarmed := m.withDeadline(outer, time.Now(), time.Hour)
	unarmed.end()
	d = unarmed
	holds("ended before it was armed")
}

// TestTheOuterCallEndsTheInner has the time of a call pass while another is in it.
func TestTheOuterCallEndsTheInner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := living(t)
		outer := m.withDeadline(t.Context(), time.Now(), time.Minute)
		defer outer.end()
		inner := m.withDeadline(outer, time.Now(), time.Hour)
		defer inner.end()
		time.Sleep(time.Minute)
		<-inner.Done()
		if inner.Err() == nil || !errors.Is(context.Cause(inner), context.DeadlineExceeded) || outer.Err() == nil {
			t.Errorf("inner %v, cause %v; outer %v", inner.Err(), context.Cause(inner), outer.Err())
		}
	})
}

// TestAHeldClockStandsStill stops the clock before and after somebody waits.
func TestAHeldClockStandsStill(t *testing.T) {
	for _, armed := range []string{"never", "before", "while", "after"} {
		synctest.Test(t, func(t *testing.T) {
			d := living(t).withDeadline(t.Context(), time.Now(), time.Minute)
			defer d.end()
			arm := func(when string) {
				if armed == when {
					d.Done()
				}
			}
			arm("before")
			time.Sleep(40 * time.Second)
			d.hold()
			arm("while")
			time.Sleep(time.Hour)
			d.release()
			arm("after")
			time.Sleep(19 * time.Second)
			if d.Err() != nil {
				t.Errorf("armed %s: done after 59 seconds of its minute", armed)
			}
			time.Sleep(2 * time.Second)
			d.Done()
			synctest.Wait()
			if !errors.Is(context.Cause(d), context.DeadlineExceeded) {
				t.Errorf("armed %s: after its minute the cause is %v", armed, context.Cause(d))
			}
		})
	}
}

// TestDeadlineInManyHands is for the race detector: whoever gets the context of a call may
// use it anywhere, and after the call too.
func TestDeadlineInManyHands(t *testing.T) {
	for range 200 {
		m := living(t)
		d := m.withDeadline(t.Context(), time.Now(), time.Hour)
		var hands sync.WaitGroup
		for _, use := range []func(){
			func() { <-d.Done() },
			func() { _ = d.Err() },
			func() { defer Suspend(d)(); d.Value(deadlineKey{}) },
			func() {
				ctx, cancel := context.WithCancel(d)
				defer cancel()
				<-ctx.Done()
			},
			func() { d.end() },
		} {
			hands.Go(use)
		}
		hands.Wait()
		if d.Err() == nil || !isDone(d) {
			t.Fatal("not done after its end")
		}
	}
}
