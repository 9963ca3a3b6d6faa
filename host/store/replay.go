package store

import (
	"context"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/request"
)

// Repeated returns what an earlier request with the same id and hash has begun, false where
// there was none. Only RequestID and BodyHash of in are looked at. It returns ErrNotFound
// where that run was deleted, and ErrConflict when the id was used with another hash.
func (s Runs) Repeated(ctx context.Context, p identity.Principal, in BeginRun) (out Begun, found bool, err error) {
	err = s.view(ctx, func(tx kv.Tx) error {
		out, err = s.replay(tx, p, in)
		return err
	})
	return out, out.Replayed, err
}

// replay returns what an earlier request with the same id has begun.
func (s Runs) replay(tx kv.Tx, p identity.Principal, in BeginRun) (out Begun, err error) {
	asked := identity.Resource{Kind: identity.SessionKind, Owner: p.UserID()}
	if err := may(p, identity.AskSession, asked); err != nil || in.RequestID == "" {
		return Begun{}, err
	}
	r, found, err := request.Get(tx, p.UserID(), in.RequestID, s.clock())
	if err != nil || !found {
		return Begun{}, err
	}
	if r.Hash != in.BodyHash {
		return Begun{}, ErrConflict
	}
	out = Begun{Replayed: true, SessionCreated: r.SessionCreated}
	if out.Run, err = ownRun(tx, p, r.Run); err != nil {
		return Begun{}, err
	}
	if out.Session, err = ownSession(tx, p, identity.ReadSession, out.Run.Session); err != nil {
		return Begun{}, err
	}
	if out.UserMessage, err = ownMessage(tx, p, out.Run.UserMessage); err != nil {
		return Begun{}, err
	}
	for _, id := range out.Run.Responses {
		m, err := ownMessage(tx, p, id)
		if err != nil {
			return Begun{}, err
		}
		out.Responses = append(out.Responses, m)
	}
	return out, nil
}

// remember writes the request id, if there is one.
func remember(tx kv.Tx, p identity.Principal, in BeginRun, out Begun, now time.Time) error {
	if in.RequestID == "" {
		return nil
	}
	r := request.Record{Hash: in.BodyHash, Run: out.Run.ID, SessionCreated: out.SessionCreated, At: now}
	return request.Put(tx, p.UserID(), in.RequestID, r)
}
