package fault

//go:generate go run ./genfaults ../../web/src/lib/faults.json

import "net/http"

// Code names why a request was not taken, for programs.
type Code string

// The codes. Each has its line in Codes.
const (
	// Invalid: the request breaks its form, or a value is out of bounds.
	Invalid Code = "invalid"
	// Unsupported: this host does not do that.
	Unsupported Code = "unsupported"
	// NotJSON: a body that must be JSON is not said to be.
	NotJSON Code = "not_json"
	// MethodNotAllowed: the address exists, for another method.
	MethodNotAllowed Code = "method_not_allowed"
	// UpgradeRequired: the address is a WebSocket.
	UpgradeRequired Code = "upgrade_required"
	// TooSlow: the request did not arrive in time.
	TooSlow Code = "too_slow"
	// TooLarge: the request, or what it brings, is larger than is taken.
	TooLarge Code = "too_large"

	// SignedOut: nobody is signed in.
	SignedOut Code = "signed_out"
	// Forbidden: whoever asks may not do this.
	Forbidden Code = "forbidden"
	// Refused: a rule of the host refuses the message.
	Refused Code = "refused"

	// NotFound: there is nothing at the address, or no such record.
	NotFound Code = "not_found"
	// UnknownSession: there is no such conversation for whoever asks. So it is with
	// the others: what belongs to somebody else is unknown too.
	UnknownSession Code = "unknown_session"
	// UnknownMessage: there is no such message.
	UnknownMessage Code = "unknown_message"
	// UnknownRun: there is no such run.
	UnknownRun Code = "unknown_run"
	// UnknownDocument: there is no such document.
	UnknownDocument Code = "unknown_document"
	// UnknownUser: there is no user of that name.
	UnknownUser Code = "unknown_user"
	// UnknownAgent: there is no such agent.
	UnknownAgent Code = "unknown_agent"
	// UnknownModel: there is no model of that name.
	UnknownModel Code = "unknown_model"
	// UnknownTool: there is no tool of that name.
	UnknownTool Code = "unknown_tool"
	// UnknownFile: there is no such file.
	UnknownFile Code = "unknown_file"
	// UnknownPlugin: no such plugin is installed.
	UnknownPlugin Code = "unknown_plugin"
	// UnknownMemory: there is no such memory.
	UnknownMemory Code = "unknown_memory"

	// NotText: a file holds neither text nor a picture that can be read.
	NotText Code = "not_text"
	// DamagedPicture: a picture cannot be decoded.
	DamagedPicture Code = "damaged_picture"
	// UnsupportedType: documents of the type cannot be read.
	UnsupportedType Code = "unsupported_type"
	// BadEncoding: the text of a document is in no encoding that can be read.
	BadEncoding Code = "bad_encoding"

	// Busy: a run is live where the request would change something.
	Busy Code = "busy"
	// Conflict: what stands there already, or happened meanwhile, is in the way.
	Conflict Code = "conflict"
	// Full: as many are kept as may be.
	Full Code = "full"

	// DiskFull: nothing can be written.
	DiskFull Code = "disk_full"
	// Closing: the host is shutting down.
	Closing Code = "closing"
	// Internal: a fault of the host, which its log explains.
	Internal Code = "internal"
)

// Info is what is fixed about a code.
type Info struct {
	// Status is the HTTP status.
	Status int `json:"status"`
	// Close is the code by which a WebSocket is closed over it; 0 where none is.
	// They are those of RFC 6455, section 7.4.1.
	Close int `json:"-"`
	// Message is the sentence for a person when nothing more exact is known.
	Message string `json:"message"`
	// Retryable tells whether the same request may succeed later, unchanged.
	Retryable bool `json:"retryable"`
}

// Close codes of RFC 6455, section 7.4.1.
const (
	goingAway = 1001
	policy    = 1008
	tooBig    = 1009
	broken    = 1011
)

// Codes is the closed list. It must not be changed at run time.
var Codes = map[Code]Info{
	Invalid:     {http.StatusBadRequest, policy, "The request cannot be read.", false},
	Unsupported: {http.StatusBadRequest, policy, "This host does not do that.", false},
	NotJSON: {http.StatusUnsupportedMediaType, 0,
		"The body must be JSON, with Content-Type: application/json.", false},
	MethodNotAllowed: {http.StatusMethodNotAllowed, 0, "This address does not take that method.", false},
	UpgradeRequired:  {http.StatusUpgradeRequired, 0, "This address is a WebSocket.", false},
	TooSlow:          {http.StatusRequestTimeout, 0, "The request took too long to arrive.", true},
	TooLarge:         {http.StatusRequestEntityTooLarge, tooBig, "The request is too large.", false},

	SignedOut: {http.StatusUnauthorized, policy, "You are signed out. Open a sign-in link; `bulkhead user link NAME` " +
		"prints one.", false},
	Forbidden: {http.StatusForbidden, 0, "Only an operator may do this.", false},
	Refused:   {http.StatusForbidden, 0, "A rule of this host refuses the message.", false},

	NotFound:        {http.StatusNotFound, 0, "There is nothing at this address.", false},
	UnknownSession:  {http.StatusNotFound, 0, "There is no such conversation.", false},
	UnknownMessage:  {http.StatusNotFound, 0, "There is no such message.", false},
	UnknownRun:      {http.StatusNotFound, 0, "There is no such run.", false},
	UnknownDocument: {http.StatusNotFound, 0, "There is no such document.", false},
	UnknownUser:     {http.StatusNotFound, 0, "There is no user of that name.", false},
	UnknownAgent: {http.StatusNotFound, 0, "There is no such agent. It may have been removed; choose another one.",
		false},
	UnknownModel:  {http.StatusNotFound, 0, "There is no model of that name.", false},
	UnknownTool:   {http.StatusNotFound, 0, "There is no tool of that name.", false},
	UnknownFile:   {http.StatusNotFound, 0, "There is no such file. It may have been deleted.", false},
	UnknownPlugin: {http.StatusNotFound, 0, "No such plugin is installed.", false},
	UnknownMemory: {http.StatusNotFound, 0, "There is no such memory. It may have been deleted.", false},

	NotText:        {http.StatusUnsupportedMediaType, 0, "This file holds no text that can be read.", false},
	DamagedPicture: {http.StatusUnsupportedMediaType, 0, "This picture cannot be read.", false},
	UnsupportedType: {http.StatusUnsupportedMediaType, 0,
		"Documents of this type cannot be read; Markdown, plain text and HTML can.", false},
	BadEncoding: {http.StatusUnsupportedMediaType, 0,
		"The document is not text, or its encoding cannot be told; save it as UTF-8 text and add it again.", false},

	Busy:     {http.StatusConflict, 0, "An answer is being written in this conversation. Stop it or wait.", true},
	Conflict: {http.StatusConflict, 0, "Something that is there already is in the way.", false},
	Full:     {http.StatusConflict, 0, "There is no room for more of these. Remove some first.", false},

	DiskFull: {http.StatusInsufficientStorage, 0,
		"The disk is full, so nothing was stored. Free some space on the host's machine and try again.", true},
	Closing: {http.StatusServiceUnavailable, goingAway, "The host is shutting down. Nothing was stored.", true},
	Internal: {http.StatusInternalServerError, broken, "Something went wrong in the host. The host's log says more.",
		true},
}

// Info returns what is fixed about the code, and that of Internal for a code that is
// none.
func (c Code) Info() Info {
	if info, ok := Codes[c]; ok {
		return info
	}
	return Codes[Internal]
}

// Status returns the code's HTTP status.
func (c Code) Status() int { return c.Info().Status }

// OfHost tells whether the host, not the request, is at fault.
func (c Code) OfHost() bool { return c.Status() >= 500 }

// ByStatus returns the code for what an HTTP library refuses by itself, before a
// handler could say why.
func ByStatus(status int) Code {
	switch status {
	case http.StatusNotFound:
		return NotFound
	case http.StatusMethodNotAllowed:
		return MethodNotAllowed
	case http.StatusRequestEntityTooLarge:
		return TooLarge
	case http.StatusRequestTimeout:
		return TooSlow
	case http.StatusUpgradeRequired:
		return UpgradeRequired
	}
	if status >= 500 {
		return Internal
	}
	return Invalid
}
