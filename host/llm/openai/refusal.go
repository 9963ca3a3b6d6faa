package openai

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRefusalBytes is how much of an error reply is read.
const maxRefusalBytes = 64 << 10

// maxSaid is how many code points of an endpoint's own words a person sees.
const maxSaid = 240

// refusal is a reply that is not a stream: its status, and what it says.
type refusal struct {
	status     int
	html       bool
	retryAfter string
	// text is the body, or the error object, as it came.
	text string
	// message, code and kind are the error object's, as far as there is one.
	message, code, kind string
}

// Error implements error. The text may hold a key that the endpoint echoed; it
// is scrubbed where the refusal becomes an *llm.Error.
func (r *refusal) Error() string { return r.text }

func asRefusal(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

func readRefusal(response *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(response.Body, maxRefusalBytes))
	if err != nil && len(data) == 0 && response.StatusCode < 400 {
		return err
	}
	r := newRefusal(response.StatusCode, data)
	r.retryAfter = response.Header.Get("Retry-After")
	r.html = strings.Contains(strings.ToLower(response.Header.Get("Content-Type")), "html")
	return r
}

// newRefusal reads the shapes that are in use: {"error":{…}}, {"error":"…"},
// {"message":…}, {"detail":…}, and the same in an array of one.
func newRefusal(status int, data []byte) *refusal {
	r := &refusal{status: status, text: string(data)}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
		Type    json.RawMessage `json:"type"`
	}
	if json.Unmarshal(data, &outer) != nil {
		return r
	}
	inner := outer
	if text := asText(outer.Error); text != "" {
		inner.Message = outer.Error
	} else if len(outer.Error) > 0 {
		// An error that is neither text nor object leaves the outer fields.
		_ = json.Unmarshal(outer.Error, &inner)
	}
	r.message = asText(inner.Message)
	if r.message == "" {
		r.message = asText(inner.Detail)
	}
	r.code, r.kind = strings.Trim(string(inner.Code), `"`), asText(inner.Type)
	return r
}

// asText returns a JSON string's text, "" for anything else.
func asText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// said returns the endpoint's own words as a sentence to append, on one line
// and not long.
func (r *refusal) said() string {
	text := strings.Join(strings.FieldsFunc(r.message, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c)
	}), " ")
	if text == "" {
		return ""
	}
	if utf8.RuneCountInString(text) > maxSaid {
		text = string([]rune(text)[:maxSaid]) + "…"
	}
	return " It says: " + text
}

// quota tells whether the refusal is about money, which waiting does not mend.
func (r *refusal) quota() bool {
	return r.code == "insufficient_quota" || r.kind == "insufficient_quota" || r.status == http.StatusPaymentRequired
}

// tooLongWords are how servers say that the prompt does not fit.
var tooLongWords = []string{
	"context_length_exceeded", "context length", "maximum context", "context window", "context size",
	"prompt is too long", "too many tokens", "exceed_context_size",
}

// tooLong tells whether the conversation does not fit the model's window.
func (r *refusal) tooLong() bool {
	if r.status == http.StatusRequestEntityTooLarge {
		return true
	}
	if r.status != 0 && r.status != 200 && r.status != 400 && r.status != 422 && r.status != 500 {
		return false
	}
	text := strings.ToLower(r.text)
	for _, word := range tooLongWords {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
