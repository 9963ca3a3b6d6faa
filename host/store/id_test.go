package store

import (
	"errors"
	"testing"
	"time"
)

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
