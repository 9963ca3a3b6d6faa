package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// maxBytes is how much of each page is read. What text a page has stands well
// within it, and reading HTML takes many times its size in memory.
const maxBytes = 2 << 20

const accept = "text/html,application/xhtml+xml;q=0.9,text/markdown;q=0.9,text/plain;q=0.8,application/json;q=0.8,application/xml;q=0.7,*/*;q=0.5"

// fetchAll asks for all addresses side by side.
func fetchAll(addresses []string) ([]pdk.HTTPResult, error) {
	requests := make([]pdk.HTTPRequest, len(addresses))
	for i, u := range addresses {
		requests[i] = pdk.HTTPRequest{URL: u, MaxBytes: maxBytes,
			Headers: map[string]string{"Accept": accept, "Accept-Language": "en,*;q=0.5"}}
	}
	return pdk.HTTPFetchAll(requests)
}

// page is what one address brought.
type page struct {
	// URL is where it came from, after redirects.
	URL string
	// Title is "" where the page names none, Date in RFC 3339 or "".
	Title, Date string
	// Text is Markdown, or the text as it was.
	Text string
	// Truncated tells that the page was too long to be read whole.
	Truncated bool
	// Note says what of the bytes could not be read, "" for nothing.
	Note string
}

// refusal says in a sentence for the model why a page has no text.
type refusal string

// Error implements error.
func (r refusal) Error() string { return string(r) }

// read makes a page of a response. The error is a refusal.
func read(address string, r pdk.HTTPResult) (page, error) {
	if r.Err != nil {
		return page{}, refusal(sentence(r.Err))
	}
	res := r.Response
	if res.Status < 200 || res.Status > 299 {
		return page{}, refusal(statusSentence(res.Status))
	}
	p := page{URL: res.FinalURL, Truncated: res.Truncated}
	if p.URL == "" {
		p.URL = address
	}
	err := p.fill(res)
	if err == nil && strings.TrimSpace(p.Text) == "" {
		err = refusal("The page is empty.")
	}
	return p, err
}

func statusSentence(status int) string {
	switch {
	case status == 401 || status == 407:
		return fmt.Sprintf("It asks to sign in (status %d).", status)
	case status == 402 || status == 403 || status == 451:
		return fmt.Sprintf("The server refuses to show it (status %d).", status)
	case status == 404 || status == 410:
		return fmt.Sprintf("There is no such page (status %d).", status)
	case status == 429:
		return "The server has had too many requests (status 429). Try again later."
	case status >= 500:
		return fmt.Sprintf("The server has a problem of its own (status %d).", status)
	}
	return fmt.Sprintf("The server answered with status %d and no page.", status)
}

// sentence says to the model why the host did not fetch.
func sentence(err error) string {
	var e *pdk.HostError
	if !errors.As(err, &e) {
		return err.Error()
	}
	switch e.Kind {
	case pdk.Denied:
		return "It may not be opened: " + e.Message
	case pdk.Unavailable:
		return "This host cannot open addresses: " + e.Message
	case pdk.Invalid:
		return e.Message + " " + example
	}
	return e.Message
}

// hostOf is the host of an address, for a title where there is none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Host
}
