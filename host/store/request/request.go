// Package request remembers which requests were answered, so that one that comes again
// is not carried out again.
//
// Ids of requests come in with what they began, in the caller's transaction. It must not
// know what a run is.
package request

import (
	"errors"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// Lifetime is how long a request is remembered.
const Lifetime = 24 * time.Hour

// Record is what a request began.
type Record struct {
	// Hash is that of the request's body.
	Hash           string    `json:"hash"`
	Run            string    `json:"run"`
	SessionCreated bool      `json:"session_created,omitempty"`
	At             time.Time `json:"at"`
}

func (r Record) expired(now time.Time) bool { return !now.Before(r.At.Add(Lifetime)) }

// Get returns what a user's request began, false where none is remembered.
func Get(tx kv.Tx, user, id string, now time.Time) (Record, bool, error) {
	r, err := table.Get[Record](tx, table.Requests, table.Join(user, id))
	if errors.Is(err, table.ErrNotFound) {
		return Record{}, false, nil
	}
	if err != nil || r.expired(now) {
		return Record{}, false, err
	}
	return r, true, nil
}

// Put remembers a user's request.
func Put(tx kv.Tx, user, id string, r Record) error {
	key := table.Join(user, id)
	return errors.Join(
		table.Requests.Put(tx, key, r),
		table.RequestTimes.PutRaw(tx, table.Join(table.TimeKey(r.At), key), []byte{}))
}

// prunedAtOnce bounds the work of one Prune.
const prunedAtOnce = 64

// Prune forgets requests that are too old, a few at a time.
func Prune(tx kv.Tx, now time.Time) error {
	limit := table.TimeKey(now.Add(-Lifetime))
	var old []string
	table.RequestTimes.Scan(tx, "", func(key string, _ []byte) bool {
		at, _, _ := strings.Cut(key, "/")
		if at > limit || len(old) == prunedAtOnce {
			return false
		}
		old = append(old, key)
		return true
	})
	for _, key := range old {
		_, requestKey, _ := strings.Cut(key, "/")
		// The id may have been used again since.
		if r, err := table.Get[Record](tx, table.Requests, requestKey); err != nil || r.expired(now) {
			if err := table.Requests.Delete(tx, requestKey); err != nil {
				return err
			}
		}
		if err := table.RequestTimes.Delete(tx, key); err != nil {
			return err
		}
	}
	return nil
}
