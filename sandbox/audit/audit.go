// Package audit keeps the record of what modules asked for, what was decided and
// what was done.
//
// Entries come in from the gate and from whoever installs or grants; a chain of
// entries, each carrying the hash of the one before, goes out to the operator.
// It must not know hosts, plugins or what an entry is about, and what is handed
// to it must hold no secret: values are left out or shortened by the caller.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Tx is what a room may do inside one transaction of its own key space.
type Tx = interface {
	Get(key string) ([]byte, bool)
	Put(key string, value []byte) error
	Delete(key string) error
	// Scan visits keys with the prefix in byte order until visit returns false.
	Scan(prefix string, visit func(key string, value []byte) bool) error
}

// Storage is one key space in which transactions are serialised. A transaction
// whose function returns an error changes nothing.
type Storage interface {
	View(func(Tx) error) error
	Update(func(Tx) error) error
}

// Kind is what an entry is about.
type Kind string

// The kinds of entries.
const (
	// KindHostCall is one host call: what was asked and what was decided.
	KindHostCall Kind = "host_call"
	// KindToolCall is the end of one tool call, with the sums of its host calls.
	KindToolCall Kind = "tool_call"
	// KindInstall is a plugin that was installed or upgraded.
	KindInstall Kind = "install"
	// KindGrant is a grant that was set or revoked.
	KindGrant Kind = "grant"
	// KindTools is a plugin's list of tools that changed, or that somebody accepted.
	KindTools Kind = "tools"
	// KindConfig is a plugin's configuration that was changed.
	KindConfig Kind = "config"
)

// Entry is one record. Seq, Prev and Hash are the log's to fill.
type Entry struct {
	// Seq counts from 1 without a gap.
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`

	Plugin  string `json:"plugin,omitempty"`
	Version string `json:"version,omitempty"`
	// SHA256 is that of the module, in hex.
	SHA256 string `json:"sha256,omitempty"`
	Tool   string `json:"tool,omitempty"`
	User   string `json:"user,omitempty"`
	// Session, Run and CallID tell which tool call it belongs to.
	Session string `json:"session,omitempty"`
	Run     string `json:"run,omitempty"`
	CallID  string `json:"call_id,omitempty"`

	Capability string `json:"capability,omitempty"`
	Function   string `json:"function,omitempty"`
	// Summary says in a few words what was asked, without secrets.
	Summary string `json:"summary,omitempty"`
	// Decision is allow, ask or deny as it came out.
	Decision string `json:"decision,omitempty"`
	// Outcome is ok or the kind of error.
	Outcome string `json:"outcome,omitempty"`
	// Calls is the number of host calls of a tool call, Bytes what the host
	// handed to the module.
	Calls int   `json:"calls,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`

	// Prev is the hash of the entry before, "" for the first. Hash is the
	// SHA-256, in hex, of this entry's JSON with an empty hash.
	Prev string `json:"prev,omitempty"`
	Hash string `json:"hash"`
}

// Recorder takes entries.
type Recorder interface {
	// Record appends an entry. When it returns nil the entry is stored.
	Record(Entry) error
}

// ErrBroken is returned by Verify when the chain does not hold: an entry was
// changed, removed or put in from outside. The error that wraps it names the
// first entry that is wrong.
var ErrBroken = errors.New("the audit log was changed from outside")

// Log is an append-only chain of entries in a Storage. It is safe for concurrent
// use by one process.
type Log struct {
	space Storage
	now   func() time.Time
}

// New returns the log kept in space, which nothing else may write to.
func New(space Storage, now func() time.Time) *Log { return &Log{space: space, now: now} }

const (
	entryPrefix = "entry/"
	headKey     = "head"
)

// head points at the last entry.
type head struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

func entryKey(seq int64) string { return fmt.Sprintf("%s%020d", entryPrefix, seq) }

// Record appends e; a zero Time is filled with the log's clock, in the order of the
// entries. What comes while the storage writes may go there together.
func (l *Log) Record(entry Entry) error {
	err := l.space.Update(func(tx Tx) error {
		e := entry // the storage may run this again
		if e.Time.IsZero() {
			e.Time = l.now()
		}
		e.Time = e.Time.UTC().Round(0)
		last, err := readHead(tx)
		if err != nil {
			return err
		}
		e.Seq, e.Prev, e.Hash = last.Seq+1, last.Hash, ""
		if e.Hash, err = hashOf(e); err != nil {
			return err
		}
		return put(tx, e)
	})
	if err != nil {
		return fmt.Errorf("write audit record: %w", err)
	}
	return nil
}

func put(tx Tx, e Entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := tx.Put(entryKey(e.Seq), data); err != nil {
		return err
	}
	data, err = json.Marshal(head{e.Seq, e.Hash})
	if err != nil {
		return err
	}
	return tx.Put(headKey, data)
}

// Tail returns the last n entries, oldest first; fewer when there are fewer.
func (l *Log) Tail(n int) ([]Entry, error) {
	var list []Entry
	err := l.space.View(func(tx Tx) error {
		last, err := readHead(tx)
		if err != nil {
			return err
		}
		for seq := max(1, last.Seq-int64(n)+1); seq <= last.Seq; seq++ {
			e, err := readEntry(tx, seq)
			if err != nil {
				return err
			}
			list = append(list, e)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read audit records: %w", err)
	}
	return list, nil
}

// Verify walks the whole chain and returns how many entries it has. It returns
// ErrBroken, wrapped, when an entry does not follow from the one before.
func (l *Log) Verify() (int64, error) {
	var prev head
	err := l.space.View(func(tx Tx) error {
		last, err := readHead(tx)
		if err != nil {
			return err
		}
		var bad error
		err = tx.Scan(entryPrefix, func(key string, value []byte) bool {
			prev, bad = follow(prev, key, value)
			return bad == nil
		})
		if bad != nil {
			return bad
		}
		if err == nil && prev != last {
			return fmt.Errorf("the last entry is %d, the chain ends at %d: %w", prev.Seq, last.Seq, ErrBroken)
		}
		return err
	})
	if err != nil {
		return prev.Seq, fmt.Errorf("verify audit log: %w", err)
	}
	return prev.Seq, nil
}

// follow checks that an entry is the successor of prev.
func follow(prev head, key string, value []byte) (head, error) {
	var e Entry
	if err := json.Unmarshal(value, &e); err != nil {
		return prev, fmt.Errorf("entry %d cannot be read: %w", prev.Seq+1, ErrBroken)
	}
	stated := e.Hash
	e.Hash = ""
	computed, err := hashOf(e)
	if err != nil {
		return prev, err
	}
	if e.Seq != prev.Seq+1 || key != entryKey(e.Seq) || e.Prev != prev.Hash || stated != computed {
		return prev, fmt.Errorf("entry %d does not follow from the one before: %w", prev.Seq+1, ErrBroken)
	}
	return head{e.Seq, stated}, nil
}

func hashOf(e Entry) (string, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

func readHead(tx Tx) (head, error) {
	data, ok := tx.Get(headKey)
	if !ok {
		return head{}, nil
	}
	var h head
	if err := json.Unmarshal(data, &h); err != nil {
		return head{}, fmt.Errorf("the end of the chain cannot be read: %w", ErrBroken)
	}
	return h, nil
}

func readEntry(tx Tx, seq int64) (Entry, error) {
	data, ok := tx.Get(entryKey(seq))
	if !ok {
		return Entry{}, fmt.Errorf("entry %d is missing: %w", seq, ErrBroken)
	}
	var e Entry
	if err := json.Unmarshal(data, &e); err != nil {
		return Entry{}, fmt.Errorf("entry %d cannot be read: %w", seq, ErrBroken)
	}
	return e, nil
}

// Shorten cuts a text for a summary to n characters, on one line.
func Shorten(text string, n int) string {
	runes := make([]rune, 0, n+1)
	for _, r := range text {
		if r < ' ' || r == 0x7f {
			r = ' '
		}
		if len(runes) == n {
			return string(runes) + "…"
		}
		runes = append(runes, r)
	}
	return string(runes)
}
