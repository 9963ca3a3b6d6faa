package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// table is the name of a top-level bucket.
type table string

// The tables. Records are JSON under their id; an index maps a key that is made
// of parts joined by "/" to an id, or to nothing where its key says it all.
const (
	tableMeta      table = "meta"
	tableUsers     table = "users"      // id → User
	tableUserNames table = "user_names" // index: lower-case name → id
	tableLinks     table = "links"      // SHA-256 of the token → credential
	tableCookies   table = "cookies"    // SHA-256 of the cookie → credential

	tableSessions      table = "sessions"       // id → Session
	tableOwnerSessions table = "owner_sessions" // index: owner/updated/id
	tableMessages      table = "messages"       // id → Message
	tableSessionMsgs   table = "session_msgs"   // index: session/id
	tableRuns          table = "runs"           // id → Run
	tableSessionRuns   table = "session_runs"   // index: session/id
	tableLive          table = "live"           // index: session → id of its live run
	tableRequests      table = "requests"       // user/request id → request
	tableRequestTimes  table = "request_times"  // index: time/user/request id

	tableDocuments     table = "documents"      // id → DocumentRecord
	tableDocumentTexts table = "document_texts" // id → the text
	tableDocumentURIs  table = "document_uris"  // index: owner/URI → id
	tableSpaces        table = "spaces"         // name → bucket of a Space

	tableMemories      table = "memories"       // id → Memory
	tableOwnerMemories table = "owner_memories" // index: owner/id
	tableFiles         table = "files"          // id → File
	tableFileTexts     table = "file_texts"     // id → the text
	tableFilePictures  table = "file_pictures"  // id → the bytes of a picture
	tableOwnerFiles    table = "owner_files"    // index: owner/id
	tableSessionFiles  table = "session_files"  // index: session/id

	tableAgents     table = "agents"      // id → Agent
	tableAgentNames table = "agent_names" // index: lower-case name → id
)

// put stores v as JSON.
func (t table) put(tx kv.Tx, key string, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write %s/%s: %w", t, key, err)
	}
	return t.putRaw(tx, key, bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}

func (t table) putRaw(tx kv.Tx, key string, value []byte) error {
	if err := tx.Put(kv.Table(t), key, value); err != nil {
		return fmt.Errorf("write %s/%s: %w", t, key, err)
	}
	return nil
}

func (t table) delete(tx kv.Tx, key string) error {
	if err := tx.Delete(kv.Table(t), key); err != nil {
		return fmt.Errorf("delete %s/%s: %w", t, key, err)
	}
	return nil
}

// text returns the value of an index entry, "" if there is none.
func (t table) text(tx kv.Tx, key string) string {
	value, _ := tx.Get(kv.Table(t), key)
	return string(value)
}

// bytes returns a value for the caller to keep, nil if there is none.
func (t table) bytes(tx kv.Tx, key string) []byte {
	value, _ := tx.Get(kv.Table(t), key)
	return bytes.Clone(value)
}

func (t table) has(tx kv.Tx, key string) bool {
	_, found := tx.Get(kv.Table(t), key)
	return found
}

// scan visits the keys that begin with prefix, in byte order, until visit
// returns false. Key and value belong to the transaction; visit must not write.
func (t table) scan(tx kv.Tx, prefix string, visit func(key string, value []byte) bool) {
	_ = tx.Scan(kv.Table(t), prefix, visit) // it never fails
}

// tails returns what comes after prefix in the keys that begin with it.
func (t table) tails(tx kv.Tx, prefix string) []string {
	var out []string
	t.scan(tx, prefix, func(key string, _ []byte) bool {
		out = append(out, strings.TrimPrefix(key, prefix))
		return true
	})
	return out
}

// deletePrefix deletes the keys that begin with prefix.
func (t table) deletePrefix(tx kv.Tx, prefix string) error {
	for _, tail := range t.tails(tx, prefix) {
		if err := t.delete(tx, prefix+tail); err != nil {
			return err
		}
	}
	return nil
}

// get reads a record. It returns ErrNotFound bare, for the caller to say what
// was not found, and a *RecordError for one that makes no sense.
func get[T any](tx kv.Tx, t table, key string) (T, error) {
	var v T
	data, found := tx.Get(kv.Table(t), key)
	if key == "" || !found {
		return v, ErrNotFound
	}
	return decode[T](t, key, data)
}

func decode[T any](t table, key string, data []byte) (T, error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		var zero T
		return zero, &RecordError{Table: string(t), Key: key, Err: err}
	}
	return v, nil
}

// join makes the key of an index. Only the last part may contain a "/".
func join(parts ...string) string { return strings.Join(parts, "/") }
