package pdk

import (
	"errors"
	"time"
)

// HTTPRequest is one request to an address on the network.
type HTTPRequest struct {
	// URL is absolute, http or https.
	URL string `json:"url"`
	// Method is GET where it is empty.
	Method string `json:"method,omitempty"`
	// Headers have one value each. Those of the connection belong to the host.
	Headers map[string]string `json:"headers,omitempty"`
	// Body is sent as it is; nil for none.
	Body []byte `json:"body_base64,omitempty"`
	// MaxBytes narrows how much of the response is read, 0 for what was granted.
	MaxBytes int64 `json:"max_bytes,omitempty"`
	// Timeout narrows the host's time for the request and its redirects, in whole
	// milliseconds, 0 for that.
	Timeout time.Duration `json:"-"`
	// Credential names a secret that the host puts into the request; the plugin
	// never sees it.
	Credential string `json:"credential,omitempty"`
}

// HTTPResponse is what came back.
type HTTPResponse struct {
	Status int
	// Headers have names in lower case. Cookies are not among them.
	Headers map[string]string
	// FinalURL is where the response came from, after redirects.
	FinalURL string
	// Body is decompressed, at most what may be read.
	Body []byte
	// Truncated tells that the body went on.
	Truncated bool
}

// HTTPResult is one response of HTTPFetchAll, or why there is none.
type HTTPResult struct {
	Response HTTPResponse
	// Err is a *HostError, nil for none.
	Err error
}

// httpArgs is an HTTPRequest as the host reads it.
type httpArgs struct {
	HTTPRequest
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
}

func (r HTTPRequest) args() httpArgs { return httpArgs{r, r.Timeout.Milliseconds()} }

// httpAnswer is a response as the host writes it: a body that is UTF-8 as text.
type httpAnswer struct {
	Status     int               `json:"status"`
	Headers    map[string]string `json:"headers"`
	FinalURL   string            `json:"final_url"`
	Body       string            `json:"body"`
	BodyBase64 []byte            `json:"body_base64"`
	Truncated  bool              `json:"truncated"`
}

func (a httpAnswer) response() HTTPResponse {
	r := HTTPResponse{Status: a.Status, Headers: a.Headers, FinalURL: a.FinalURL, Body: a.BodyBase64,
		Truncated: a.Truncated}
	if r.Body == nil {
		r.Body = []byte(a.Body)
	}
	return r
}

// HTTPFetch makes a request. A response of any status is no error. It needs the
// capability http, and returns a *HostError: Denied for what may not be
// requested, Invalid for what is no request, Quota for too many, Failed with a
// sentence for a server that does not answer.
func HTTPFetch(r HTTPRequest) (HTTPResponse, error) {
	answer, err := call[httpAnswer](hostHTTPFetch, r.args())
	return answer.response(), err
}

// MaxHTTPFetchAll is how many requests HTTPFetchAll takes.
const MaxHTTPFetchAll = 32

// HTTPFetchAll makes up to MaxHTTPFetchAll requests side by side, which a module
// cannot do by itself, and returns a result for each, in order. Each is decided
// and counted as by HTTPFetch. The error is about all of them.
func HTTPFetchAll(requests []HTTPRequest) ([]HTTPResult, error) {
	args := make([]httpArgs, len(requests))
	for i, r := range requests {
		args[i] = r.args()
	}
	answer, err := call[struct {
		Results []struct {
			OK    httpAnswer `json:"ok"`
			Error *HostError `json:"error"`
		} `json:"results"`
	}](hostHTTPFetchAll, map[string]any{"requests": args})
	if err != nil {
		return nil, err
	}
	if len(answer.Results) != len(requests) {
		return nil, errors.New("the host did not answer every request")
	}
	results := make([]HTTPResult, len(requests))
	for i, r := range answer.Results {
		if r.Error != nil {
			results[i].Err = r.Error
			continue
		}
		results[i].Response = r.OK.response()
	}
	return results, nil
}
