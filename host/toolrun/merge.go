package toolrun

import (
	"bytes"
	"encoding/json"
	"maps"
)

// mergeInto adds the entries of c to an earlier call of the same tool, where the
// tool names a merge field and nothing but that field differs. Equal entries are
// kept once. The earlier call keeps its place and id.
func mergeInto(calls []*call, c *call) bool {
	field := c.spec.Merge
	if field == "" || c.opened || c.argumentsErr != nil {
		return false
	}
	added, ok := entries(c.fitted.Arguments[field])
	if !ok {
		return false
	}
	for _, earlier := range calls {
		if earlier.name != c.name || earlier.opened || earlier.argumentsErr != nil ||
			!sameBut(earlier.fitted.Arguments, c.fitted.Arguments, field) {
			continue
		}
		have, ok := entries(earlier.fitted.Arguments[field])
		if !ok {
			continue
		}
		earlier.fitted.Arguments[field] = joinEntries(append(have, added...))
		return true
	}
	// A call of its own still holds each entry once.
	c.fitted.Arguments[field] = joinEntries(added)
	return false
}

// entries reads a merge field: an array, or one value for an array of one.
func entries(raw json.RawMessage) ([]json.RawMessage, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, false
	}
	if raw[0] != '[' {
		return []json.RawMessage{raw}, true
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, false
	}
	return list, true
}

// joinEntries writes a list with each entry once, by its compact JSON.
func joinEntries(list []json.RawMessage) json.RawMessage {
	seen := map[string]bool{}
	kept := []json.RawMessage{}
	for _, entry := range list {
		var compact bytes.Buffer
		if err := json.Compact(&compact, entry); err != nil {
			continue // entries come from decoded JSON and are always valid
		}
		if !seen[compact.String()] {
			seen[compact.String()] = true
			kept = append(kept, compact.Bytes())
		}
	}
	data, err := json.Marshal(kept)
	if err != nil { // valid raw values always encode
		return json.RawMessage("[]")
	}
	return data
}

// sameBut tells whether two argument objects agree in all but one field.
func sameBut(a, b map[string]json.RawMessage, field string) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	delete(a, field)
	delete(b, field)
	return maps.EqualFunc(a, b, func(x, y json.RawMessage) bool {
		return bytes.Equal(bytes.TrimSpace(x),
			bytes.TrimSpace(y))
	})
}
