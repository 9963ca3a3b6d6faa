// Package event hands people's clients what happens outside of runs.
//
// An Event comes in for a person; it goes out to each of their connections, which
// subscribed. It must not know how clients are reached, nor what an event is about.
package event

import (
	"encoding/json"
	"sync"
)

// Event tells a person's clients of something that happened outside a run or in
// another tab. Events are not replayed: a client fetches anew when it connects.
type Event struct {
	Topic Topic `json:"topic"`
	// ID is of the thing that changed; "" for more than one.
	ID string `json:"id"`
	// Change is created, updated, removed or started; missed when events were lost
	// because the client was slow, so that it fetches anew.
	Change string `json:"change"`
	// Data is what a client needs to draw the change, absent where it fetches.
	Data json.RawMessage `json:"data,omitempty"`
}

// eventQueue is how many events wait for one slow subscriber. Later ones are
// dropped and a single one with change missed takes their place.
const eventQueue = 64

// Hub hands the events of each person to that person's connections. The zero
// Hub is ready; it is safe for concurrent use.
type Hub struct {
	mu sync.Mutex // guards subs
	// subs holds the subscribers of each user id.
	subs map[string]map[*Subscription]struct{}
}

// Subscription is one connection's view of a Hub.
type Subscription struct {
	hub  *Hub
	user string

	mu     sync.Mutex // guards queue and missed
	queue  []Event
	missed bool
	ready  chan struct{}
}

// Publish hands e to every subscription of the user. It never waits.
func (h *Hub) Publish(user string, e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs[user] {
		s.put(e)
	}
}

// Broadcast hands e to every subscription. It never waits.
func (h *Hub) Broadcast(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, subs := range h.subs {
		for s := range subs {
			s.put(e)
		}
	}
}

// Subscribe returns a subscription to the user's events; the caller ends it with
// Close.
func (h *Hub) Subscribe(user string) *Subscription {
	s := &Subscription{hub: h, user: user, ready: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs == nil {
		h.subs = make(map[string]map[*Subscription]struct{})
	}
	if h.subs[user] == nil {
		h.subs[user] = make(map[*Subscription]struct{})
	}
	h.subs[user][s] = struct{}{}
	return s
}

func (s *Subscription) put(e Event) {
	s.mu.Lock()
	if len(s.queue) < eventQueue {
		s.queue = append(s.queue, e)
	} else {
		s.missed = true
	}
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default: // it is marked already
	}
}

// Ready gets a value when Take may have something.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Take returns what has come since the last Take, oldest first.
func (s *Subscription) Take() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.queue
	s.queue = nil
	if s.missed {
		events = append(events, Event{Topic: TopicSession, Change: "missed"},
			Event{Topic: TopicDocument, Change: "missed"})
		s.missed = false
	}
	return events
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subs[s.user], s)
	if len(s.hub.subs[s.user]) == 0 {
		delete(s.hub.subs, s.user)
	}
}
