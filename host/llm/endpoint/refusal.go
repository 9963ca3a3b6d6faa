package endpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
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
// {"message":…}, {"detail":…}, {"title":…}, lists of such under errors or detail, the same
// in an array of one, and plain text.
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
		Errors  json.RawMessage `json:"errors"`
		Title   json.RawMessage `json:"title"`
		// Description is what OAuth has beside the name of an error.
		Description json.RawMessage `json:"error_description"`
	}
	if json.Unmarshal(data, &outer) != nil {
		r.Message = plainWords(data)
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
	for _, raw := range []json.RawMessage{inner.Detail, outer.Detail, inner.Errors, outer.Errors, inner.Title,
		outer.Description} {
		if r.Message == "" {
			r.Message = anyWords(raw)
		}
	}
	r.Code, r.Kind = strings.Trim(string(inner.Code), `"`), asText(inner.Type)
	return r
}

// anyWords finds what is for people in a text, or in a list of texts or objects.
func anyWords(raw json.RawMessage) string {
	if text := asText(raw); text != "" {
		return text
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var said []string
	for _, one := range list {
		var object struct {
			Message json.RawMessage `json:"message"`
			Msg     json.RawMessage `json:"msg"`
			Detail  json.RawMessage `json:"detail"`
			Loc     []any           `json:"loc"`
		}
		if text := asText(one); text != "" {
			said = append(said, text)
		} else if json.Unmarshal(one, &object) == nil {
			text := cmp.Or(asText(object.Message), asText(object.Msg), asText(object.Detail))
			if len(object.Loc) > 0 && text != "" {
				text = fmt.Sprintf("%v: %s", object.Loc[len(object.Loc)-1], text)
			}
			if text != "" {
				said = append(said, text)
			}
		}
	}
	return strings.Join(said, "; ")
}

// plainWords is a reply that is no JSON, where it reads as a sentence.
func plainWords(data []byte) string {
	text := strings.TrimSpace(string(data))
	if text == "" || !utf8.ValidString(text) || strings.ContainsAny(text[:1], "<{[") {
		return ""
	}
	return text
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
	text = secrets.ReplaceAllString(text, "[hidden]")
	if utf8.RuneCountInString(text) > maxSaid {
		text = string([]rune(text)[:maxSaid]) + "…"
	}
	return " It says: " + text
}

// secrets are what looks like a key, and addresses and paths inside of a server: none is
// for a person's eyes.
var secrets = regexp.MustCompile(`(?i)\b(?:sk|pk|rk|gsk|hf|xai|key|token|bearer)[-_ :=]+[A-Za-z0-9_\-.]{8,}|` +
	`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\b[a-z][a-z0-9+.-]*://\S+|(?:/[\w.-]+){2,}/?|\b[A-Z]:\\\S+`)

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
