package endpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// fault is what went wrong below HTTP.
type fault int

const (
	faultNone fault = iota
	faultRefused
	faultReset
	faultDNS
	faultTLS
	faultTimeout
	faultNoConnection
)

func networkFault(err error) fault {
	var (
		dns       *net.DNSError
		record    tls.RecordHeaderError
		cert      *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		alert     tls.AlertError
		timeout   net.Error
		dial      *net.OpError
	)
	switch {
	case errors.As(err, &dial) && dial.Op == "dial" && dial.Timeout():
		return faultNoConnection
	case errors.As(err, &dns):
		return faultDNS
	case errors.As(err, &record), errors.As(err, &cert), errors.As(err, &authority), errors.As(err, &alert),
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return faultTLS
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH),
		errors.Is(err, syscall.ENETUNREACH):
		return faultRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF):
		return faultReset
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return faultTimeout
	}
	return faultNone
}

// failure turns an error of opening the stream into one for the caller.
func (e *Endpoint) failure(err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	var known *llm.Error
	if errors.As(err, &known) { // the adapter's own, from before anything was sent
		return known
	}
	if refused := asRefusal(err); refused != nil {
		return e.Refused(refused)
	}
	at := e.address
	switch {
	case errors.Is(err, errNoConnection), networkFault(err) == faultNoConnection:
		return e.Fail(packet.CodeModelUnreachable, fmt.Sprintf("No connection to %s could be made in time.", at), err)
	case errors.Is(err, errNoFirstToken):
		return e.Fail(packet.CodeModelTimeout, fmt.Sprintf("%s did not begin to answer within %s.", at,
			e.cfg.Timeouts.FirstToken), err)
	case errors.Is(err, errIdle):
		return e.Fail(packet.CodeModelTimeout, fmt.Sprintf("%s stopped sending in the middle of the answer. What "+
			"arrived is saved.", at), err)
	case errors.Is(err, errMute):
		return e.Fail(packet.CodeModelTimeout, fmt.Sprintf("%s kept the connection open and wrote nothing for %s. "+
			"What arrived is saved.", at, e.cfg.Timeouts.mute()), err)
	case errors.Is(err, errTooLarge):
		return e.Fail(packet.CodeModelBadResponse,
			fmt.Sprintf("%s sent a line that is too large to be part of an answer.", at), err)
	}
	switch networkFault(err) {
	case faultRefused:
		return e.Fail(packet.CodeModelUnreachable,
			fmt.Sprintf("Nothing answers at %s. Is the model server running?", at), err)
	case faultReset:
		return e.Fail(packet.CodeModelUnreachable, fmt.Sprintf("%s closed the connection without an answer.", at), err)
	case faultDNS:
		return e.Fail(packet.CodeModelUnreachable,
			fmt.Sprintf("The name of the model server %s could not be resolved.", at), err)
	case faultTLS:
		return e.Fail(packet.CodeModelUnreachable,
			fmt.Sprintf("No secure connection to %s could be made. Check its certificate, and http or https in "+
				"base_url.", at), err)
	case faultTimeout:
		return e.Fail(packet.CodeModelTimeout, fmt.Sprintf("%s did not answer in time.", at), err)
	}
	return e.Fail(packet.CodeModelUnreachable, fmt.Sprintf("%s could not be reached.", at), err)
}

// Fail makes the error, with the key taken out of every text. The cause is kept
// as text only: the SDK's errors hold the request with its headers.
func (e *Endpoint) Fail(code packet.Code, message string, cause error) *llm.Error {
	if cause != nil {
		cause = errors.New(e.scrub(cause.Error()))
	}
	return llm.NewError(code, e.scrub(message), cause)
}

// scrub takes the key out of a text that an endpoint may have echoed it in.
func (e *Endpoint) scrub(text string) string {
	key := e.cfg.APIKey.Reveal()
	if key == "" {
		return text
	}
	text = strings.ReplaceAll(text, key, "[hidden]")
	if quoted, err := json.Marshal(key); err == nil {
		text = strings.ReplaceAll(text, strings.Trim(string(quoted), `"`), "[hidden]")
	}
	return text
}

// Refused maps a reply with an error status, or a reply that is no stream.
func (e *Endpoint) Refused(r *Refusal) *llm.Error {
	code, message := e.judge(r)
	text := r.Text
	if code == packet.CodeModelAuth {
		text = r.Code // the text often echoes parts of the key
	}
	out := e.Fail(code, message, fmt.Errorf("status %d: %.2000s", r.Status, text))
	out.Status = r.Status
	if r.quota() {
		out.Retryable = false
	}
	return out
}

func (e *Endpoint) judge(r *Refusal) (packet.Code, string) {
	at := e.address
	switch {
	case r.html && r.Status < 400:
		return packet.CodeModelBadResponse, fmt.Sprintf("%s sent a web page instead of an answer. Check base_url.", at)
	case r.tooLong():
		return packet.CodeContextTooLong, ""
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return packet.CodeModelAuth, e.locked(r.Status)
	case r.Status == http.StatusNotFound:
		return packet.CodeModelNotFound, fmt.Sprintf("%s does not have the model %s, or base_url does not lead to "+
			"its API.%s", at, e.cfg.Model, r.said())
	case r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusNotImplemented:
		return packet.CodeModelNotFound, fmt.Sprintf("%s takes no questions there. Does base_url lead to its API?", at)
	case r.quota():
		return packet.CodeModelRateLimited, fmt.Sprintf("The account at %s has no budget left.%s", at, r.said())
	case r.Status == http.StatusTooManyRequests:
		if wait, stated := e.retryAfter(r.retryAfter); stated && wait > maxRetryAfter {
			return packet.CodeModelRateLimited, fmt.Sprintf("%s asks to wait %s before the next request.", at,
				wait.Round(time.Second))
		}
		return packet.CodeModelRateLimited, fmt.Sprintf("%s asks to slow down. Wait a little, then retry.", at)
	case r.Status == http.StatusRequestTimeout || r.Status == http.StatusGatewayTimeout:
		return packet.CodeModelTimeout, fmt.Sprintf("%s did not answer in time.", at)
	case r.Status == statusOverloaded:
		return packet.CodeModelRateLimited, fmt.Sprintf("%s has no room for this request right now. Wait a little, "+
			"then retry.", at)
	case r.Status >= 500:
		return packet.CodeModelFailed, fmt.Sprintf("%s reported a fault of its own (status %d). Your message is saved.%s",
			at, r.Status, r.said())
	case r.Status >= 400:
		return packet.CodeModelRejected, fmt.Sprintf("%s refused the request.%s", at, r.said())
	case r.Status >= 300:
		return packet.CodeModelRejected, fmt.Sprintf("%s redirects to another address, which is not followed. Put "+
			"the final address in base_url.", at)
	case r.Message != "":
		return packet.CodeModelFailed, fmt.Sprintf("%s reported a fault of its own.%s", at, r.said())
	}
	return packet.CodeModelBadResponse, fmt.Sprintf("%s sent something that is not a stream of an answer.", at)
}

// locked says what a person can do about an endpoint that does not let them in.
func (e *Endpoint) locked(status int) string {
	switch {
	case e.cfg.APIKey.IsZero():
		return fmt.Sprintf("%s wants a key, and this model has none. Set its api_key.", e.address)
	case status == http.StatusForbidden:
		return fmt.Sprintf("%s took the key and does not let it use %s. Check what the key may do.", e.address,
			e.cfg.Model)
	}
	return fmt.Sprintf("%s refused the key. Check the key of this model.", e.address)
}

// Broken maps an error that ended a stream which had begun. The error is an
// *llm.Error, or context.Canceled.
func (e *Endpoint) Broken(w *Watch, err error) error {
	err = w.silence(err)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, errIdle), errors.Is(err, errMute), errors.Is(err, errNoFirstToken), errors.Is(err, errTooLarge):
		return e.failure(err)
	case errors.As(err, &syntax), errors.As(err, &kind):
		return e.Unreadable(err)
	case networkFault(err) != faultNone:
		return e.Fail(packet.CodeModelInterrupted,
			fmt.Sprintf("The connection to %s broke in the middle of the answer. What arrived is saved.", e.address),
			err)
	}
	return e.failure(err)
}

// Unreadable is the error for an answer that is not of the provider's format.
func (e *Endpoint) Unreadable(cause error) *llm.Error {
	return e.Fail(packet.CodeModelBadResponse, fmt.Sprintf("%s sent something in its answer that could not be read.",
		e.address), cause)
}

// CutOff is the error for a stream that ended before the answer was complete.
func (e *Endpoint) CutOff() *llm.Error {
	return e.Fail(packet.CodeModelInterrupted, fmt.Sprintf("The answer from %s broke off. What arrived is saved.",
		e.address), nil)
}

// Inside maps an error object in the stream. Its code, where it is a number,
// speaks as a status would have.
func (e *Endpoint) Inside(r *Refusal) *llm.Error {
	if status, err := strconv.Atoi(r.Code); err == nil && status >= 400 && status < 600 {
		r.Status = status
	}
	if r.Status == 0 {
		r.Status = statusOf(r.Code + " " + r.Kind)
	}
	if r.Message == "" {
		r.Message = "an error without words"
	}
	return e.Refused(r)
}

// statusOf reads the names that providers give to errors, 0 for one that says no
// more than that.
func statusOf(name string) int {
	for _, known := range []struct {
		word   string
		status int
	}{
		{"rate_limit", http.StatusTooManyRequests}, {"overloaded", statusOverloaded},
		{"authentication", http.StatusUnauthorized}, {"permission", http.StatusForbidden},
		{"billing", http.StatusPaymentRequired},
		{"timeout", http.StatusGatewayTimeout}, {"request_too_large", http.StatusRequestEntityTooLarge},
		{"not_found", http.StatusNotFound}, {"invalid_request", http.StatusBadRequest},
	} {
		if strings.Contains(name, known.word) {
			return known.status
		}
	}
	return 0
}
