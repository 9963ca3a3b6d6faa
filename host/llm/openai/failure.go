package openai

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
	"strings"
	"syscall"

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
)

func networkFault(err error) fault {
	var (
		dns       *net.DNSError
		record    tls.RecordHeaderError
		cert      *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		alert     tls.AlertError
		timeout   net.Error
	)
	switch {
	case errors.As(err, &dns):
		return faultDNS
	case errors.As(err, &record), errors.As(err, &cert), errors.As(err, &authority), errors.As(err, &alert),
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return faultTLS
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return faultRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return faultReset
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return faultTimeout
	}
	return faultNone
}

// failure turns an error of opening the stream into one for the caller.
func (m *Model) failure(err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	if refused := asRefusal(err); refused != nil {
		return m.refused(refused)
	}
	at := m.address
	switch {
	case errors.Is(err, errNoFirstToken):
		return m.fail(packet.CodeModelTimeout, fmt.Sprintf("%s did not begin to answer within %s.", at, m.cfg.FirstTokenTimeout), err)
	case errors.Is(err, errIdle):
		return m.fail(packet.CodeModelTimeout, fmt.Sprintf("%s stopped sending in the middle of the answer. What arrived is saved.", at), err)
	case errors.Is(err, errTooLarge):
		return m.fail(packet.CodeModelBadResponse, fmt.Sprintf("%s sent a line that is too large to be part of an answer.", at), err)
	}
	switch networkFault(err) {
	case faultRefused:
		return m.fail(packet.CodeModelUnreachable, fmt.Sprintf("Nothing answers at %s. Is the model server running?", at), err)
	case faultReset:
		return m.fail(packet.CodeModelUnreachable, fmt.Sprintf("%s closed the connection without an answer.", at), err)
	case faultDNS:
		return m.fail(packet.CodeModelUnreachable, fmt.Sprintf("The name of the model server %s could not be resolved.", at), err)
	case faultTLS:
		return m.fail(packet.CodeModelUnreachable, fmt.Sprintf("No secure connection to %s could be made. Check its certificate, and http or https in base_url.", at), err)
	case faultTimeout:
		return m.fail(packet.CodeModelTimeout, fmt.Sprintf("%s did not answer in time.", at), err)
	}
	return m.fail(packet.CodeModelUnreachable, fmt.Sprintf("%s could not be reached.", at), err)
}

// fail makes the error, with the key taken out of every text. The cause is kept
// as text only: the SDK's errors hold the request with its headers.
func (m *Model) fail(code packet.Code, message string, cause error) *llm.Error {
	if cause != nil {
		cause = errors.New(m.scrub(cause.Error()))
	}
	return llm.NewError(code, m.scrub(message), cause)
}

// scrub takes the key out of a text that an endpoint may have echoed it in.
func (m *Model) scrub(text string) string {
	key := m.cfg.APIKey.Reveal()
	if key == "" {
		return text
	}
	text = strings.ReplaceAll(text, key, "[hidden]")
	if quoted, err := json.Marshal(key); err == nil {
		text = strings.ReplaceAll(text, strings.Trim(string(quoted), `"`), "[hidden]")
	}
	return text
}

// refused maps a reply with an error status, or a reply that is no stream.
func (m *Model) refused(r *refusal) error {
	code, message := m.judge(r)
	text := r.text
	if code == packet.CodeModelAuth {
		text = r.code // the text often echoes parts of the key
	}
	out := m.fail(code, message, fmt.Errorf("status %d: %.2000s", r.status, text))
	out.Status = r.status
	if r.quota() {
		out.Retryable = false
	}
	return out
}

func (m *Model) judge(r *refusal) (packet.Code, string) {
	at := m.address
	switch {
	case r.html && r.status < 400:
		return packet.CodeModelBadResponse, fmt.Sprintf("%s sent a web page instead of an answer. Check base_url.", at)
	case r.tooLong():
		return packet.CodeContextTooLong, ""
	case r.status == http.StatusUnauthorized || r.status == http.StatusForbidden:
		return packet.CodeModelAuth, fmt.Sprintf("%s refused the key. Check the key of this model.", at)
	case r.status == http.StatusNotFound:
		return packet.CodeModelNotFound, fmt.Sprintf("%s does not have the model %s, or base_url does not lead to its API.%s", at, m.cfg.Model, r.said())
	case r.quota():
		return packet.CodeModelRateLimited, fmt.Sprintf("The account at %s has no budget left.%s", at, r.said())
	case r.status == http.StatusTooManyRequests:
		return packet.CodeModelRateLimited, fmt.Sprintf("%s asks to slow down. Wait a little, then retry.", at)
	case r.status == http.StatusRequestTimeout || r.status == http.StatusGatewayTimeout:
		return packet.CodeModelTimeout, fmt.Sprintf("%s did not answer in time.", at)
	case r.status >= 500:
		return packet.CodeModelFailed, fmt.Sprintf("%s reported a fault of its own (status %d). Your message is saved.", at, r.status)
	case r.status >= 400:
		return packet.CodeModelRejected, fmt.Sprintf("%s refused the request.%s", at, r.said())
	case r.status >= 300:
		return packet.CodeModelRejected, fmt.Sprintf("%s redirects to another address, which is not followed. Put the final address in base_url.", at)
	case r.message != "":
		return packet.CodeModelFailed, fmt.Sprintf("%s reported a fault of its own.%s", at, r.said())
	}
	return packet.CodeModelBadResponse, fmt.Sprintf("%s sent something that is not a stream of an answer.", at)
}
