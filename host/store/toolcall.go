package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"go.etcd.io/bbolt"
)

// ToolCall is the record of a call, for people and for the audit.
type ToolCall struct {
	// ID is unique within the run.
	ID      string `json:"id"`
	Run     string `json:"run"`
	Message string `json:"message"`
	Owner   string `json:"owner"`
	Tool    string `json:"tool"`
	Plugin  string `json:"plugin,omitempty"`
	// Arguments is valid JSON, secrets redacted.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Outcome is that of the call's section_end packet.
	Outcome    string `json:"outcome"`
	DurationMS int64  `json:"duration_ms"`
	// HostCalls is a JSON array of what the call asked of the host.
	HostCalls json.RawMessage `json:"host_calls,omitempty"`
	At        time.Time       `json:"at"`
}

// ToolCalls returns the calls of a run, in the order in which they were made;
// they are there once the run has finished. Calls that cannot be read are left
// out and named in the error.
func (s *Store) ToolCalls(ctx context.Context, p identity.Principal, runID string) ([]ToolCall, error) {
	var calls []ToolCall
	var bad []error
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		if _, err := ownRun(tx, p, runID); err != nil {
			return err
		}
		tableToolCalls.scan(tx, runID+"/", func(key string, data []byte) bool {
			call, err := decode[ToolCall](tableToolCalls, key, data)
			if err != nil {
				bad = append(bad, err)
			} else {
				calls = append(calls, call)
			}
			return true
		})
		return nil
	})
	return calls, errors.Join(append(bad, err)...)
}

// putToolCalls writes a run's calls; whose they are is the run's to say.
// JSON that is not valid is kept as a JSON string.
func putToolCalls(tx *bbolt.Tx, run Run, calls []ToolCall) error {
	for i, call := range calls {
		call.Run, call.Owner = run.ID, run.Owner
		call.Arguments, call.HostCalls = validJSON(call.Arguments), validJSON(call.HostCalls)
		if err := tableToolCalls.put(tx, join(run.ID, fmt.Sprintf("%06d", i)), call); err != nil {
			return err
		}
	}
	return nil
}

func validJSON(data json.RawMessage) json.RawMessage {
	if len(data) == 0 || json.Valid(data) {
		return data
	}
	quoted, _ := json.Marshal(string(data)) // a string always encodes
	return quoted
}
