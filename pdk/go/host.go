package pdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The kinds of a HostError.
const (
	Denied      = "denied"
	Quota       = "quota"
	Invalid     = "invalid"
	NotFound    = "not_found"
	Unavailable = "unavailable"
	Cancelled   = "cancelled"
	Timeout     = "timeout"
	Failed      = "failed"
)

// HostError is returned by every host function when the host did not do it. A
// function that was not granted returns one of kind Denied: a plugin can go on
// without it.
type HostError struct {
	// Kind is one of the constants.
	Kind string `json:"kind"`
	// Message is a sentence that may be shown to the model.
	Message string `json:"message"`
}

func (e *HostError) Error() string { return e.Kind + ": " + e.Message }

// IsKind tells whether err is a HostError of a kind.
func IsKind(err error, kind string) bool {
	var e *HostError
	return errors.As(err, &e) && e.Kind == kind
}

// call sends args to a host function and reads its answer into a T.
func call[T any](function func([]byte) []byte, args any) (T, error) {
	var answer struct {
		OK    T          `json:"ok"`
		Error *HostError `json:"error"`
	}
	in, err := json.Marshal(args)
	if err != nil {
		return answer.OK, fmt.Errorf("write the arguments: %w", err)
	}
	if err := json.Unmarshal(function(in), &answer); err != nil {
		return answer.OK, fmt.Errorf("read the host's answer: %w", err)
	}
	if answer.Error != nil {
		return answer.OK, answer.Error
	}
	return answer.OK, nil
}

// Hit is a passage that KnowledgeSearch found.
type Hit struct {
	DocumentID string  `json:"document_id"`
	ChunkID    string  `json:"chunk_id"`
	Title      string  `json:"title"`
	Section    string  `json:"section"`
	Content    string  `json:"content"`
	Snippet    string  `json:"snippet"`
	Score      float64 `json:"score"`
	URL        string  `json:"url,omitempty"`
	UpdatedAt  string  `json:"updated_at,omitempty"`
}

// KnowledgeSearch finds passages in the user's documents, best first, at most
// limit (1 to 50). It needs the capability knowledge.
func KnowledgeSearch(query string, limit int) ([]Hit, error) {
	answer, err := call[struct {
		Hits []Hit `json:"hits"`
	}](hostKnowledgeSearch, map[string]any{"query": query, "limit": limit})
	return answer.Hits, err
}

// KnowledgeRead returns limit characters of a document's text from offset, both
// in Unicode code points, and how many the whole has. A limit of 0 is the host's
// default. It needs the capability knowledge.
func KnowledgeRead(documentID string, offset, limit int) (text string, total int, err error) {
	answer, err := call[struct {
		Text  string `json:"text"`
		Total int    `json:"total"`
	}](hostKnowledgeRead, map[string]any{"document_id": documentID, "offset": offset, "limit": limit})
	return answer.Text, answer.Total, err
}

// KVGet returns the value of a key, and whether there is one. It needs the
// capability kv.
func KVGet(key string) (value string, found bool, err error) {
	answer, err := call[struct {
		Value string `json:"value"`
		Found bool   `json:"found"`
	}](hostKVGet, map[string]any{"key": key})
	return answer.Value, answer.Found, err
}

// KVPut stores a text under a key. It needs the capability kv, and fails with
// Quota when keys and values together would pass the quota.
func KVPut(key, value string) error {
	_, err := call[json.RawMessage](hostKVPut, map[string]any{"key": key, "value": value})
	return err
}

// KVDelete removes a key; a key that is not there is no error. It needs the
// capability kv.
func KVDelete(key string) error {
	_, err := call[json.RawMessage](hostKVDelete, map[string]any{"key": key})
	return err
}

// KVList returns the keys with a prefix, in byte order. It needs the capability
// kv.
func KVList(prefix string) ([]string, error) {
	answer, err := call[struct {
		Keys []string `json:"keys"`
	}](hostKVList, map[string]any{"prefix": prefix})
	return answer.Keys, err
}

// Progress shows the person how far the call has come: fraction is 0 to 1, or
// below 0 when it is not known. It needs the capability emit.
func Progress(message string, fraction float64) error {
	p := map[string]any{"message": message}
	if fraction >= 0 {
		p["fraction"] = min(fraction, 1)
	}
	return emit(map[string]any{"progress": p})
}

// Output adds to what the person sees of the running call; channel is text,
// stdout, stderr or markdown. It needs the capability emit.
func Output(channel, delta string) error {
	return emit(map[string]any{"output": map[string]any{"channel": channel, "delta": delta}})
}

// ShowDocuments shows documents as they are found, before the result. It needs
// the capability emit.
func ShowDocuments(docs ...Document) error {
	return emit(map[string]any{"documents": docs})
}

func emit(what map[string]any) error {
	_, err := call[json.RawMessage](hostEmit, what)
	return err
}

// The levels of Log.
const (
	LevelDebug = "debug"
	LevelInfo  = "info"
	LevelWarn  = "warn"
	LevelError = "error"
)

// Log writes to the host's log, which the operator reads. It needs no
// capability. Never log what a person would not want there.
func Log(level, message string) { hostLog(level, message) }

// Config returns a value that the operator configured for the plugin.
func Config(key string) (string, bool) { return hostConfig(key) }

// Random fills b with random bytes from the host, fresh also after a reset of
// the instance.
func Random(b []byte) { hostRandom(b) }

// RFC3339 is t as the protocol writes times, "" for the zero time.
func RFC3339(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
