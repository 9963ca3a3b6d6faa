package llm

import (
	"encoding/json"
	"strings"
)

// ArgumentsObject returns the arguments of a call as an object, which is what most
// providers take in a history: as they are where they are one, an empty one for
// none, else an object that holds the text.
func ArgumentsObject(text string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return json.RawMessage(text)
	}
	return malformed(text)
}

// ArgumentsJSON returns the arguments of a call as the text of a JSON value, for
// providers that refuse a whole history for one malformed call in it.
func ArgumentsJSON(text string) string {
	if json.Valid([]byte(text)) {
		return text
	}
	return string(malformed(text))
}

// malformed wraps what is no JSON of the right kind.
func malformed(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}")
	}
	wrapped, err := json.Marshal(map[string]string{"malformed_arguments": text})
	if err != nil { // a map of strings always encodes
		return json.RawMessage("{}")
	}
	return wrapped
}
