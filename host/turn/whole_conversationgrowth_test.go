package turn

import (
	"bytes"
	"encoding/json"
	"testing"
)

// prefix is what of a request providers and servers keep between requests, as its
// bytes came: what stands before the messages, and the messages.
type prefix struct {
	Tools, System json.RawMessage
	Messages      []json.RawMessage
}

// checkGrowth holds that each request begins, byte for byte, with the one before it,
// but for cache marks and a note at the end. Tools count where they stand before the
// messages and are named in every request of the answer, as Anthropic has them.
func checkGrowth(t *testing.T, requests []askedRequest) {
	t.Helper()
	var before prefix
	for n, r := range requests {
		var now prefix
		if err := json.Unmarshal(unmarked(t, r.raw), &now); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			if now.System != nil && !(bytes.Equal(now.Tools, before.Tools) && bytes.Equal(now.System, before.System)) {
				t.Errorf("request %d has other tools or another system message than the one before:\n%s\n%s\n%s\n%s",
					n+1, now.Tools, before.Tools, now.System, before.System)
			}
			for i, m := range before.Messages {
				if i < len(now.Messages) && bytes.HasPrefix(now.Messages[i], bytes.TrimRight(m, "]}")) {
					continue
				}
				if last := i == len(before.Messages)-1; last && r.notes(m) {
					continue
				}
				t.Errorf("message %d of request %d was\n%s", i+1, n, m)
			}
		}
		before = now
	}
}

// notes tells whether a message ends with the reminder of the tool reminds.
func (askedRequest) notes(m json.RawMessage) bool {
	return bytes.Contains(m, []byte("Cite what you found."))
}

// unmarked is a body without cache marks.
func unmarked(t *testing.T, raw []byte) []byte {
	t.Helper()
	const mark = `"cache_control":{"type":"ephemeral"}`
	raw = bytes.ReplaceAll(raw, []byte(mark+","), nil)
	return bytes.ReplaceAll(raw, []byte(","+mark), nil)
}
