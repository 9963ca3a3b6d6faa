package endpoint

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

// Refusal is a reply that is not a stream, or an error object within one: its
// status, and what it says. Its texts may hold a key that the endpoint echoed; it
// is taken out where the refusal becomes an *llm.Error.
type Refusal struct {
	// Status is the HTTP status, 0 where an error object came without one.
	Status     int
	html       bool
	retryAfter string
	// Text is the body, or the error object, as it came.
	Text string
	// Message, Code and Kind are the error object's, as far as there is one.
	Message, Code, Kind string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// Words is all that it says, in lower case: as it came, and its message without the
// escapes of JSON, by which words are not found.
func (r *Refusal) Words() string { return strings.ToLower(r.Text + "\n" + r.Message) }

func asRefusal(err error) *Refusal {
	var r *Refusal
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
	r := NewRefusal(response.StatusCode, data)
	r.retryAfter = response.Header.Get("Retry-After")
	r.html = strings.Contains(strings.ToLower(response.Header.Get("Content-Type")), "html")
	return r
}

// NewRefusal reads the shapes that are in use: {"error":{…}}, {"error":"…"},
// {"message":…}, {"detail":…}, and the same in an array of one.
func NewRefusal(status int, data []byte) *Refusal {
	r := &Refusal{Status: status, Text: string(data)}
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
	r.Message = asText(inner.Message)
	if r.Message == "" {
		r.Message = asText(inner.Detail)
	}
	r.Code, r.Kind = strings.Trim(string(inner.Code), `"`), asText(inner.Type)
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
func (r *Refusal) said() string {
	text := strings.Join(strings.FieldsFunc(r.Message, func(c rune) bool {
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

// busy tells whether waiting may mend it.
func (r *Refusal) busy() bool {
	return r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable ||
		r.Status == statusOverloaded
}

// quota tells whether the refusal is about money, which waiting does not mend.
func (r *Refusal) quota() bool {
	return r.Code == "insufficient_quota" || r.Kind == "insufficient_quota" || r.Status == http.StatusPaymentRequired
}

// tooLongWords are how servers say that the prompt does not fit.
var tooLongWords = []string{
	"context_length_exceeded", "context length", "maximum context", "context window", "context size",
	"prompt is too long", "input is too long", "too many tokens", "exceed_context_size", "context limit",
	"max_new_tokens` must be",
	"exceeds the maximum number of tokens", "input length exceeds", "please reduce the length of the messages",
}

// tooLong tells whether the conversation does not fit the model's window.
func (r *Refusal) tooLong() bool {
	if r.Status == http.StatusRequestEntityTooLarge {
		return true
	}
	if r.Status != 0 && r.Status != 200 && r.Status != 400 && r.Status != 422 && r.Status != 500 {
		return false
	}
	text := r.Words()
	for _, word := range tooLongWords {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
