package pdk

import "encoding/json"

// Result is what came of a call. The documents of Call.Cite are added to it.
type Result struct {
	// Content is for the model, and nothing else is.
	Content []Content
	// IsError tells the model that the call did not do what was asked.
	IsError bool
	// Structured is for clients and the store; nil for none.
	Structured json.RawMessage
	// Files are files that the call produced.
	Files []File
}

// Content is one piece of what the model reads.
type Content struct {
	// Type is text or image.
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// Data is base64, and MIMEType its type, for an image.
	Data     string `json:"data,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
}

// File is a file that a call produced.
type File struct {
	ID        string `json:"file_id"`
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	// Size is in bytes.
	Size int64 `json:"size"`
}

// Text is a result of one text.
func Text(text string) Result {
	return Result{Content: []Content{{Type: "text", Text: text}}}
}

// JSON is a result whose text is v as JSON. A value that cannot be written as
// JSON is a failure that says so.
func JSON(v any) Result {
	data, err := json.Marshal(v)
	if err != nil {
		return Fail("The result cannot be written as JSON: " + err.Error())
	}
	return Text(string(data))
}

// Fail is a failure that the model reads and can act on: say what was wrong and
// give an example of right.
func Fail(text string) Result {
	r := Text(text)
	r.IsError = true
	return r
}
