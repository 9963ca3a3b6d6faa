package api

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/bulkhead-host/bulkhead/host/api/aggregate"
	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

const newMessages = apiRoot + "/sessions/new/messages"

func TestWholeAnswerInOneReply(t *testing.T) {
	h := newHost(t)
	h.model.Add(llmtest.Answer().Reasoning("hm").Text("The ", "answer.").Usage(7, 3))
	var run aggregate.Run
	body := strings.Replace(sendJSONBody("What?"), "{", `{"stream":false,`, 1)
	h.call("POST", newMessages, body, http.StatusOK, &run)
	if len(run.Messages) != 1 || run.StopReason != packet.StopCompleted || run.SessionID == "" {
		t.Fatalf("got %+v", run)
	}
	m := run.Messages[0]
	if m.Text != "The answer." || m.Reasoning != "hm" || m.Usage.InputTokens != 7 || m.Usage.OutputTokens != 3 ||
		m.Model != "scripted" {
		t.Errorf("got %+v", m)
	}
	var detail struct {
		Session  rest.SessionView   `json:"session"`
		Messages []rest.MessageView `json:"messages"`
		Live     []frame.LiveRun    `json:"live_runs"`
	}
	h.call("GET", apiRoot+"/sessions/"+run.SessionID, "", http.StatusOK, &detail)
	if len(detail.Messages) != 2 || detail.Messages[1].Text != m.Text || detail.Messages[1].Status != "completed" ||
		detail.Session.Leaf != m.MessageID {
		t.Errorf("the session is %+v", detail)
	}
}

func TestPostIsIdempotentByKey(t *testing.T) {
	h := newHost(t)
	h.model.Add(llmtest.Answer().Text("once"))
	key := uuid.NewString()
	var first, again rest.PostAck
	h.call("POST", newMessages, `{"text":"What?"}`, http.StatusAccepted, &first, "Idempotency-Key", key)
	h.call("POST", newMessages, `{"text":"What?"}`, http.StatusAccepted, &again, "Idempotency-Key", key)
	if first.Run == "" || first.Run != again.Run || first.SessionID != again.SessionID {
		t.Errorf("first %+v, again %+v", first, again)
	}
	h.fails(h.request("POST", newMessages, `{"text":"Who?"}`, "Idempotency-Key", key), http.StatusConflict,
		fault.Conflict)
	h.fails(h.request("POST", newMessages, `{"text":"Who?","request_id":"`+uuid.NewString()+`"}`, "Idempotency-Key",
		key), http.StatusBadRequest, fault.Invalid)
	h.fails(h.request("POST", newMessages, `{"text":"Who?"}`, "Idempotency-Key", "no uuid"), http.StatusBadRequest,
		fault.Invalid)
	h.waitFor(first.Run)
}

// waitFor returns when a run of the owner has ended.
func (h *testHost) waitFor(run string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	owner, err := h.store.Users().ByName(ctx, "owner")
	if err == nil {
		err = h.turns.Wait(ctx, owner.Principal(identity.Command), run)
	}
	if err != nil {
		h.t.Fatalf("wait for the end of run %s: %v", run, err)
	}
}

// sseEvent is an event of an event stream; comments have only Comment.
type sseEvent struct{ Event, ID, Data, Comment string }

// events reads an event stream.
type events struct {
	t    *testing.T
	body io.Closer
	in   *bufio.Reader
}

func (h *testHost) events(r *http.Request) *events {
	h.t.Helper()
	res, err := h.client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		h.t.Fatalf("%s: %d %s", r.URL, res.StatusCode, res.Header)
	}
	e := &events{h.t, res.Body, bufio.NewReader(res.Body)}
	if first := e.next(); first.Comment == "" {
		h.t.Fatalf("the stream begins with %+v", first)
	}
	return e
}

// next returns the next event, the zero value at the end of the stream.
func (e *events) next() sseEvent {
	e.t.Helper()
	var ev sseEvent
	for {
		line, err := e.in.ReadString('\n')
		if err == io.EOF {
			return sseEvent{}
		}
		if err != nil {
			e.t.Fatalf("wait for an event, after %+v: %v", ev, err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return ev
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			ev.Event = value
		case "id":
			ev.ID = value
		case "data":
			ev.Data = value
		case "":
			ev.Comment = value
		}
	}
}

func TestEventStreamOfARun(t *testing.T) {
	h := newHost(t)
	gate := make(chan struct{})
	h.model.Add(llmtest.Answer().Text("one ").Gate(gate).Text("two"))
	e := h.events(h.request("POST", newMessages, sendJSONBody("What?"), "Accept", "text/event-stream"))
	var run, last string
	for n := 1; ; n++ {
		ev := e.next()
		var p packet.Packet
		if err := p.UnmarshalJSON([]byte(ev.Data)); err != nil {
			t.Fatalf("%v in %+v", err, ev)
		}
		if last = fmt.Sprintf("1.%d", n); ev.ID != last {
			t.Fatalf("event %d has id %s", n, ev.ID)
		}
		run = p.Run
		if says("one")(p) {
			break
		}
	}
	h.silence()
	if ev := e.next(); ev.Comment != "heartbeat" {
		t.Errorf("after silence came %+v", ev)
	}
	e.body.Close()
	close(gate)
	h.waitFor(run)

	path := apiRoot + "/runs/" + run + "/events"
	// The run is stored by now, with its neighbouring deltas joined, in another epoch.
	left := h.events(h.request("GET", path+"?epoch=1&after=0", "", "Last-Event-ID", last))
	if ev := left.next(); ev.Event != "reset" || ev.Data != `{"epoch":2}` {
		t.Fatalf("after the end came %+v", ev)
	}
	var text strings.Builder
	for ev := left.next(); ev != (sseEvent{}); ev = left.next() {
		var p packet.Packet
		if err := p.UnmarshalJSON([]byte(ev.Data)); err != nil {
			t.Fatal(err)
		}
		text.WriteString(textOf([]packet.Packet{p}))
		last = ev.ID
	}
	if text.String() != "one two" {
		t.Errorf("after the reset came %q", text.String())
	}
	if res, _ := h.do(h.request("GET", path, "", "Last-Event-ID", last)); res.StatusCode != http.StatusNoContent {
		t.Errorf("at the end of the run: %d", res.StatusCode)
	}
	other := h.events(h.request("GET", path+"?epoch=9&after=3", ""))
	if ev := other.next(); ev.Event != "reset" {
		t.Errorf("another epoch begins with %+v", ev)
	}
	if ev := other.next(); ev.ID != "2.1" {
		t.Errorf("after the reset came %+v", ev)
	}
	for _, bad := range []string{"x", "1", "1.-2", "1.2.3"} {
		h.fails(h.request("GET", path, "", "Last-Event-ID", bad), http.StatusBadRequest, fault.Invalid)
	}
}

func TestPacketsOfALiveAndAFinishedRun(t *testing.T) {
	h := newHost(t)
	gate := make(chan struct{})
	h.model.Add(llmtest.Answer().Text("one ").Gate(gate).Text("two"))
	w := h.dial()
	ack := w.ask(sendFrameText("1", "What?"))
	seen := w.until(says("one"))
	type reply struct {
		Epoch   int64           `json:"epoch"`
		Packets []packet.Packet `json:"packets"`
		Done    bool            `json:"done"`
	}
	path := apiRoot + "/runs/" + ack.Run
	var live, done, after reply
	h.call("GET", path+"/packets?after=0", "", http.StatusOK, &live)
	if live.Done || len(live.Packets) < len(seen) {
		t.Errorf("of a live run: %d packets, done %v", len(live.Packets), live.Done)
	}
	close(gate)
	h.waitFor(ack.Run)
	h.call("GET", path+"/packets", "", http.StatusOK, &done)
	checkSeq(t, done.Packets, 0)
	if !done.Done || textOf(done.Packets) != "one two" {
		t.Errorf("of a finished run: %+v", done)
	}
	h.call("GET", fmt.Sprintf("%s/packets?after=%d", path, len(done.Packets)), "", http.StatusOK, &after)
	if !after.Done || after.Packets == nil || len(after.Packets) != 0 {
		t.Errorf("after the end: %+v", after)
	}
	var info struct {
		Live bool   `json:"live"`
		Stop string `json:"stop_reason"`
	}
	if h.call("GET", path, "", http.StatusOK, &info); info.Live || info.Stop != "completed" {
		t.Errorf("the run is %+v", info)
	}
	h.fails(h.request("GET", apiRoot+"/runs/r_none/packets", ""), http.StatusNotFound, "unknown_run")
	h.fails(h.request("POST", apiRoot+"/runs/r_none/stop", ""), http.StatusNotFound, "unknown_run")
	h.call("POST", path+"/stop", "", http.StatusOK, nil)
}

func TestSessionsAreListedRenamedAndDeleted(t *testing.T) {
	h := newHost(t)
	var ids []string
	for i := range 3 {
		h.model.Add(llmtest.Answer().Text("fine"))
		var ack rest.PostAck
		h.call("POST", newMessages, sendJSONBody(fmt.Sprintf("Question %d", i)), http.StatusAccepted, &ack)
		h.waitFor(ack.Run)
		ids = append(ids, ack.SessionID)
	}
	type list struct {
		Sessions []rest.SessionView `json:"sessions"`
		More     bool               `json:"more"`
	}
	var page, left list
	h.call("GET", apiRoot+"/sessions?limit=2", "", http.StatusOK, &page)
	if len(page.Sessions) != 2 || !page.More || page.Sessions[0].ID != ids[2] ||
		page.Sessions[0].Title != "Question 2" {
		t.Fatalf("first page %+v", page)
	}
	h.call("GET", apiRoot+"/sessions?limit=2&before="+page.Sessions[1].ID, "", http.StatusOK, &left)
	if len(left.Sessions) != 1 || left.More || left.Sessions[0].ID != ids[0] {
		t.Errorf("second page %+v", left)
	}
	path := apiRoot + "/sessions/" + ids[0]
	h.call("PATCH", path, `{"title":"  Better   name "}`, http.StatusOK, nil)
	var detail struct{ Session rest.SessionView }
	if h.call("GET", path, "", http.StatusOK, &detail); detail.Session.Title != "Better name" {
		t.Errorf("title %q", detail.Session.Title)
	}
	h.call("PATCH", path, `{"pinned":true}`, http.StatusOK, nil)
	if h.call("GET", apiRoot+"/sessions?limit=2", "", http.StatusOK, &page); page.Sessions[0].ID != ids[0] ||
		!page.Sessions[0].Pinned || page.Sessions[0].Title != "Better name" {
		t.Errorf("a pinned conversation is not the first: %+v", page.Sessions)
	}
	h.call("PATCH", path, `{"pinned":false}`, http.StatusOK, nil)
	h.fails(h.request("PATCH", path, `{}`), http.StatusBadRequest, fault.Invalid)
	h.fails(h.request("PATCH", path, `{"title":" "}`), http.StatusBadRequest, fault.Invalid)
	h.fails(h.request("PATCH", path, `{"titel":"x"}`), http.StatusBadRequest, fault.Invalid)
	h.call("DELETE", path, "", http.StatusNoContent, nil)
	h.fails(h.request("GET", path, ""), http.StatusNotFound, "unknown_session")
	h.fails(h.request("DELETE", path, ""), http.StatusNotFound, "unknown_session")
	h.fails(h.request("GET", apiRoot+"/sessions?limit=x", ""), http.StatusBadRequest, fault.Invalid)
}

func (h *testHost) upload(files map[string]string, uris ...string) *http.Request {
	h.t.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for name, text := range files {
		w, err := m.CreateFormFile("file", name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
	for _, uri := range uris {
		if err := m.WriteField("uri", uri); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		h.t.Fatal(err)
	}
	return h.request("POST", apiRoot+"/documents", body.String(), "Content-Type", m.FormDataContentType())
}

func TestDocumentsAreTakenFoundReadAndRemoved(t *testing.T) {
	h := newHost(t)
	type reply struct {
		Documents []rest.DocumentView `json:"documents"`
		Failed    []rest.FailedUpload `json:"failed"`
	}
	send := func(r *http.Request) (out reply) {
		t.Helper()
		res, data := h.do(r)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("upload: %d %s", res.StatusCode, data)
		}
		decode(t, data, &out)
		return out
	}
	text := "# Engines\n\nThe fuel lasts for nine hours.\n"
	got := send(h.upload(map[string]string{"engine.md": text, "picture.png": "\x89PNG\r\n\x1a\n\x00\x00"}))
	if len(got.Documents) != 1 || got.Documents[0].Status != "added" || got.Documents[0].URI != "upload:engine.md" ||
		len(got.Failed) != 1 || got.Failed[0].Name != "picture.png" || got.Failed[0].Error.Message == "" {
		t.Fatalf("upload %+v", got)
	}
	if again := send(h.upload(map[string]string{"engine.md": text})); again.Documents[0].Status != "unchanged" {
		t.Errorf("again %+v", again)
	}
	id := got.Documents[0].ID
	var doc rest.DocumentView
	if h.call("GET", apiRoot+"/documents/"+id, "", http.StatusOK, &doc); doc.Text == nil ||
		!strings.Contains(*doc.Text, "nine hours") {
		t.Errorf("document %+v", doc)
	}
	var hits struct {
		Hits []struct {
			DocumentID string `json:"document_id"`
		}
	}
	h.call("GET", apiRoot+"/documents/search?q="+url.QueryEscape("fuel hours"), "", http.StatusOK, &hits)
	if len(hits.Hits) == 0 || hits.Hits[0].DocumentID != id {
		t.Errorf("hits %+v", hits)
	}
	h.fails(h.request("GET", apiRoot+"/documents/search?q=", ""), http.StatusBadRequest, fault.Invalid)
	h.fails(h.request("POST", apiRoot+"/documents", "{}"), http.StatusBadRequest, fault.Invalid)
	h.fails(h.upload(nil), http.StatusBadRequest, fault.Invalid)
	h.fails(h.upload(map[string]string{"a.md": "x"}, "one", "two"), http.StatusBadRequest, fault.Invalid)
	h.call("DELETE", apiRoot+"/documents/"+id, "", http.StatusNoContent, nil)
	h.fails(h.request("GET", apiRoot+"/documents/"+id, ""), http.StatusNotFound, "unknown_document")
	var list reply
	if h.call("GET", apiRoot+"/documents", "", http.StatusOK, &list); list.Documents == nil ||
		len(list.Documents) != 0 {
		t.Errorf("list %+v", list)
	}
}

func TestOversizeAndMalformedBodies(t *testing.T) {
	h := newHost(t)
	big := `{"text":"` + strings.Repeat("x", frame.MaxBytes) + `"}`
	h.fails(h.request("POST", newMessages, big), http.StatusRequestEntityTooLarge, fault.TooLarge)
	h.fails(h.request("POST", newMessages, sendJSONBody(strings.Repeat("x", 300<<10))),
		http.StatusRequestEntityTooLarge, fault.TooLarge)
	for _, body := range []string{`{`, `[]`, `{"text":1}`, `{"text":"x","y":1}`, `{"text":"x"} {}`, `{"text":""}`,
		`{"text":"x","session_id":"s_1"} `} {
		r := h.request("POST", apiRoot+"/sessions/s_2/messages", body)
		res, data := h.do(r)
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, res.StatusCode, data)
		}
	}
	h.fails(h.request("POST", newMessages, sendJSONBody("x"), "Content-Type", "text/plain"),
		http.StatusUnsupportedMediaType, fault.NotJSON)
	h.fails(h.request("GET", "/api/v2/me", ""), http.StatusNotFound, fault.NotFound)
	h.fails(h.request("GET", apiRoot+"/nothing", ""), http.StatusNotFound, fault.NotFound)
	h.fails(h.request("POST", "/", ""), http.StatusMethodNotAllowed, fault.MethodNotAllowed)
}

func TestUsersAreTheOperators(t *testing.T) {
	h := newHost(t)
	h.call("POST", apiRoot+"/users", `{"name":"ann"}`, http.StatusCreated, nil)
	h.fails(h.request("POST", apiRoot+"/users", `{"name":"ANN"}`), http.StatusConflict, fault.Conflict)
	h.fails(h.request("POST", apiRoot+"/users", `{"name":"a b"}`), http.StatusBadRequest, fault.Invalid)
	h.fails(h.request("POST", apiRoot+"/users/bob/link", ""), http.StatusNotFound, "unknown_user")
	var l rest.Link
	h.call("POST", apiRoot+"/users/ann/link", "", http.StatusCreated, &l)
	if !strings.HasPrefix(l.URL, h.base+"/sign-in?token=") || l.ExpiresAt.IsZero() {
		t.Fatalf("link %+v", l)
	}
	owner := h.cookie
	h.cookie = ""
	res, _ := h.do(h.request("HEAD", strings.TrimPrefix(l.URL, h.base), ""))
	if res.StatusCode != http.StatusMethodNotAllowed || len(res.Cookies()) != 0 {
		t.Errorf("HEAD: %d %v", res.StatusCode, res.Header)
	}
	res, _ = h.do(h.request("GET", strings.TrimPrefix(l.URL, h.base), ""))
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/" || len(res.Cookies()) != 1 {
		t.Fatalf("sign-in: %d %v", res.StatusCode, res.Header)
	}
	c := res.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge <= 0 {
		t.Errorf("cookie %+v", c)
	}
	res, page := h.do(h.request("GET", strings.TrimPrefix(l.URL, h.base), ""))
	if res.StatusCode != http.StatusForbidden || !strings.Contains(string(page), "used already") {
		t.Errorf("a used link: %d %s", res.StatusCode, page)
	}
	h.cookie = c.Value
	var me struct{ User rest.UserView }
	if h.call("GET", apiRoot+"/me", "", http.StatusOK, &me); me.User.Name != "ann" || me.User.Operator {
		t.Errorf("me %+v", me)
	}
	for _, path := range []string{"/users", "/plugins"} {
		h.fails(h.request("GET", apiRoot+path, ""), http.StatusForbidden, fault.Forbidden)
	}
	ann := h.dial()
	h.cookie = owner
	h.call("DELETE", apiRoot+"/users/ann", "", http.StatusNoContent, nil)
	ann.closes(websocket.StatusPolicyViolation)
	h.fails(h.request("DELETE", apiRoot+"/users/owner", ""), http.StatusConflict, fault.Conflict)
	var users struct{ Users []rest.UserView }
	if h.call("GET", apiRoot+"/users", "", http.StatusOK, &users); len(users.Users) != 1 {
		t.Errorf("users %+v", users)
	}
}

// TestAUserWithALiveRunIsRemoved has a user ask what is answered for ever.
func TestAUserWithALiveRunIsRemoved(t *testing.T) {
	h := newHost(t)
	owner := h.cookie
	h.become("ann", false)
	h.model.Add(llmtest.Answer().Text("one ").Gate(nil))
	var ack rest.PostAck
	h.call("POST", newMessages, sendJSONBody("What?"), http.StatusAccepted, &ack)
	if err := h.model.WaitRequests(t.Context(), 1); err != nil { // else there may never be one
		t.Fatal(err)
	}
	ann := h.dial()
	theirs := h.cookie
	h.cookie = owner
	h.call("DELETE", apiRoot+"/users/ann", "", http.StatusNoContent, nil)
	ann.closes(websocket.StatusPolicyViolation)
	if err := h.model.WaitEnded(t.Context(), 1); err != nil {
		t.Error(err)
	}
	h.cookie = theirs
	h.fails(h.request("GET", apiRoot+"/me", ""), http.StatusUnauthorized, fault.SignedOut)
}

func TestNobodyReadsWhatIsAnothers(t *testing.T) {
	h := newHost(t)
	h.model.Add(llmtest.Answer().Text("secret"))
	var ack rest.PostAck
	h.call("POST", newMessages, sendJSONBody("What?"), http.StatusAccepted, &ack)
	h.waitFor(ack.Run)
	h.become("eve", true)
	h.fails(h.request("GET", apiRoot+"/sessions/"+ack.SessionID, ""), http.StatusNotFound, "unknown_session")
	h.fails(h.request("GET", apiRoot+"/runs/"+ack.Run+"/packets", ""), http.StatusNotFound, "unknown_run")
	h.fails(h.request("GET", apiRoot+"/runs/"+ack.Run+"/events", ""), http.StatusNotFound, "unknown_run")
	w := h.dial()
	if r := w.ask(`{"type":"resume","run":"` + ack.Run + `","epoch":1,"after_seq":0}`); r.Error.Code != "unknown_run" {
		t.Errorf("resume got %+v", r)
	}
}

func TestEventsReachOtherTabs(t *testing.T) {
	h := newHost(t)
	h.model.Add(llmtest.Answer().Text("fine"))
	tab := h.events(h.request("GET", apiRoot+"/events", ""))
	w := h.dial()
	if r := w.ask(`{"type":"ping"}`); r.Type != "pong" { // the socket is subscribed
		t.Fatal(r)
	}
	var ack rest.PostAck
	h.call("POST", newMessages, sendJSONBody("What?"), http.StatusAccepted, &ack)
	for ev := tab.next(); ; ev = tab.next() {
		var e event.Event
		decode(t, []byte(ev.Data), &e)
		if e.Topic == "run" && e.ID == ack.Run && e.Change == "started" {
			break
		}
	}
	h.waitFor(ack.Run)
	for !slices.ContainsFunc(w.events, func(e event.Event) bool { return e.Topic == "run" && e.ID == ack.Run }) {
		w.write(`{"type":"ping"}`)
		w.read()
	}
}

func TestLocalListenerActsForAnyUser(t *testing.T) {
	h := newHost(t)
	path := t.TempDir() + "/run.sock"
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- h.server.ServeLocal(ln) }()
	dialer := &net.Dialer{}
	tr := &http.Transport{DialContext: func(ctx ctxT, _, _ string) (net.Conn,
		error) {
		return dialer.DialContext(ctx, "unix", path)
	}}
	tcp := h.client
	h.client = &http.Client{Transport: tr, Timeout: patience}
	defer func() { tr.CloseIdleConnections(); h.client = tcp }()
	h.cookie, h.base = "", "http://bulkhead"
	var me struct{ User rest.UserView }
	if h.call("GET", apiRoot+"/me", "", http.StatusOK, &me); me.User.Name != "owner" || !me.User.Operator {
		t.Errorf("me %+v", me)
	}
	h.call("POST", apiRoot+"/users", `{"name":"ann"}`, http.StatusCreated, nil)
	if h.call("GET", apiRoot+"/me", "", http.StatusOK, &me, userHeader, "ann"); me.User.Name != "ann" {
		t.Errorf("me %+v", me)
	}
	h.fails(h.request("GET", apiRoot+"/me", "", userHeader, "bob"), http.StatusNotFound, "unknown_user")
}
