// Package table says how records lie in the transactions of kv: which tables there
// are, and how a record is read from one and written.
//
// A record comes in and goes out as a value that encoding/json knows. What a record
// means, and who may see it, is for package store.
package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// ErrNotFound is returned when there is no such record.
var ErrNotFound = errors.New("not found")

// RecordError is returned when a record cannot be read.
type RecordError struct {
	// Table and Key name the record.
	Table, Key string
	Err        error
}

// Error implements error.
func (e *RecordError) Error() string {
	return fmt.Sprintf("record %s/%s cannot be read: %v", e.Table, e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }

// Name is the name of a table.
type Name string

// The tables. Records are JSON under their id; an index maps a key that is made
// of parts joined by "/" to an id, or to nothing where its key says it all.
const (
	Meta      Name = "meta"
	Users     Name = "users"      // id → User
	UserNames Name = "user_names" // index: lower-case name → id
	Links     Name = "links"      // SHA-256 of the token → credential
	Cookies   Name = "cookies"    // SHA-256 of the cookie → credential

	Sessions      Name = "sessions"       // id → Session
	OwnerSessions Name = "owner_sessions" // index: owner/updated/id
	Messages      Name = "messages"       // id → Message
	SessionMsgs   Name = "session_msgs"   // index: session/id
	Runs          Name = "runs"           // id → Run
	SessionRuns   Name = "session_runs"   // index: session/id
	Live          Name = "live"           // index: session → id of its live run
	Requests      Name = "requests"       // user/request id → request
	RequestTimes  Name = "request_times"  // index: time/user/request id

	Documents     Name = "documents"      // id → DocumentRecord
	DocumentTexts Name = "document_texts" // id → the text
	DocumentURIs  Name = "document_uris"  // index: owner/URI → id
	Spaces        Name = "spaces"         // name → bucket of a Space

	Memories      Name = "memories"       // id → Memory
	OwnerMemories Name = "owner_memories" // index: owner/id
	Files         Name = "files"          // id → File
	FileTexts     Name = "file_texts"     // id → the text
	FilePictures  Name = "file_pictures"  // id → the bytes of a picture
	OwnerFiles    Name = "owner_files"    // index: owner/id
	SessionFiles  Name = "session_files"  // index: session/id

	Agents     Name = "agents"      // id → Agent
	AgentNames Name = "agent_names" // index: lower-case name → id
)

// Put stores v as JSON.
func (t Name) Put(tx kv.Tx, key string, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write %s/%s: %w", t, key, err)
	}
	return t.PutRaw(tx, key, bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}

// PutRaw stores a value as it is.
func (t Name) PutRaw(tx kv.Tx, key string, value []byte) error {
	if err := tx.Put(kv.Table(t), key, value); err != nil {
		return fmt.Errorf("write %s/%s: %w", t, key, err)
	}
	return nil
}

// Delete deletes a value, if there is one.
func (t Name) Delete(tx kv.Tx, key string) error {
	if err := tx.Delete(kv.Table(t), key); err != nil {
		return fmt.Errorf("delete %s/%s: %w", t, key, err)
	}
	return nil
}

// Text returns the value of an index entry, "" if there is none.
func (t Name) Text(tx kv.Tx, key string) string {
	value, _ := tx.Get(kv.Table(t), key)
	return string(value)
}

// Bytes returns a value for the caller to keep, nil if there is none.
func (t Name) Bytes(tx kv.Tx, key string) []byte {
	value, _ := tx.Get(kv.Table(t), key)
	return bytes.Clone(value)
}

// Has tells whether there is a value.
func (t Name) Has(tx kv.Tx, key string) bool {
	_, found := tx.Get(kv.Table(t), key)
	return found
}

// Scan visits the keys that begin with prefix, in byte order, until visit
// returns false. Key and value belong to the transaction; visit must not write.
func (t Name) Scan(tx kv.Tx, prefix string, visit func(key string, value []byte) bool) {
	_ = tx.Scan(kv.Table(t), prefix, visit) // it never fails
}

// Tails returns what comes after prefix in the keys that begin with it.
func (t Name) Tails(tx kv.Tx, prefix string) []string {
	var out []string
	t.Scan(tx, prefix, func(key string, _ []byte) bool {
		out = append(out, strings.TrimPrefix(key, prefix))
		return true
	})
	return out
}

// DeletePrefix deletes the keys that begin with prefix.
func (t Name) DeletePrefix(tx kv.Tx, prefix string) error {
	for _, tail := range t.Tails(tx, prefix) {
		if err := t.Delete(tx, prefix+tail); err != nil {
			return err
		}
	}
	return nil
}

// Get reads a record. It returns ErrNotFound bare, for the caller to say what
// was not found, and a *RecordError for one that makes no sense.
func Get[T any](tx kv.Tx, t Name, key string) (T, error) {
	var v T
	data, found := tx.Get(kv.Table(t), key)
	if key == "" || !found {
		return v, ErrNotFound
	}
	return Decode[T](t, key, data)
}

// Decode makes a record of a value of a table. It returns a *RecordError for one that
// makes no sense.
func Decode[T any](t Name, key string, data []byte) (T, error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		var zero T
		return zero, &RecordError{Table: string(t), Key: key, Err: err}
	}
	return v, nil
}

// Join makes the key of an index. Only the last part may contain a "/".
func Join(parts ...string) string { return strings.Join(parts, "/") }

// LastPart is the last part of a key of an index.
func LastPart(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// TimeKey writes a time so that it sorts.
func TimeKey(t time.Time) string { return fmt.Sprintf("%020d", max(t.UnixNano(), 0)) }
