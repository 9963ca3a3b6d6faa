package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

// wire is the client's end of a WebSocket.
type wire struct {
	t    *testing.T
	conn *websocket.Conn
	// packets are those that came while something else was waited for.
	packets []packet.Packet
	events  []event.Event
	// came counts the frames that were read, and last is the latest of them.
	came int
	last []byte
}

// frameIn is a server frame as a client reads it.
type frameIn struct {
	Type          string          `json:"type"`
	ID            json.RawMessage `json:"id"`
	Run           string          `json:"run"`
	Epoch         int64           `json:"epoch"`
	Reset         bool            `json:"reset"`
	SessionID     string          `json:"session_id"`
	UserMessageID string          `json:"user_message_id"`
	MessageID     string          `json:"message_id"`
	LiveRuns      []frame.LiveRun `json:"live_runs"`
	LatestRun     string          `json:"latest_run"`
	Text          string          `json:"text"`
	Packets       []packet.Packet `json:"packets"`
	Error         fault.Error     `json:"error"`
	Topic         string          `json:"topic"`
	Change        string          `json:"change"`
}

// toldOf calls tell for each record of a message.
type toldOf struct {
	slog.Handler
	message string
	tell    func()
}

// Handle implements slog.Handler.
func (o toldOf) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == o.message {
		o.tell()
	}
	return o.Handler.Handle(ctx, r)
}

func TestAChangeRightAfterTheHandshakeReachesTheClient(t *testing.T) {
	var hub *event.Hub
	h := newHost(t, func(c *Config) {
		hub = c.Hub
		// The handshake is answered by then, so the client may have fetched already.
		c.Logger = slog.New(toldOf{c.Logger.Handler(), "a socket opened", func() {
			hub.Broadcast(event.Event{Topic: "agent", ID: "early", Change: "created"})
		}})
	})
	w := h.dial()
	if pong := w.ask(`{"type":"ping","id":1}`); pong.Type != "pong" {
		t.Fatalf("%+v", pong)
	}
	hub.Broadcast(event.Event{Topic: "agent", ID: "late", Change: "created"})
	if first := w.event(); first.ID != "early" {
		t.Errorf("the first event is %+v", first)
	}
}

// TestSigningOutEndsSocketsThatAreJustOpening signs out while sockets open: each is
// refused or closed, and none goes on.
func TestSigningOutEndsSocketsThatAreJustOpening(t *testing.T) {
	h := newHost(t)
	var dials sync.WaitGroup
	opened := make(chan *websocket.Conn, 32)
	for range cap(opened) {
		dials.Go(func() {
			if conn, _, err := websocket.Dial(t.Context(), h.base+apiRoot+"/ws", h.dialOptions()); err == nil {
				opened <- conn
			}
		})
	}
	h.call("POST", apiRoot+"/sign-out", "", http.StatusNoContent, nil)
	dials.Wait()
	close(opened)
	for conn := range opened {
		(&wire{t: t, conn: conn}).closes(websocket.StatusPolicyViolation)
		conn.CloseNow()
	}
}

func (h *testHost) dialOptions() *websocket.DialOptions {
	return &websocket.DialOptions{Subprotocols: []string{subprotocol}, HTTPClient: h.client,
		HTTPHeader: http.Header{"Cookie": {cookieName + "=" + h.cookie}, "Origin": {h.base}}}
}

func (h *testHost) dial() *wire {
	h.t.Helper()
	conn, _, err := websocket.Dial(h.t.Context(), h.base+apiRoot+"/ws", h.dialOptions())
	if err != nil {
		h.t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	h.t.Cleanup(func() { conn.CloseNow() })
	return &wire{t: h.t, conn: conn}
}

func (w *wire) write(frame string) {
	w.t.Helper()
	if err := w.conn.Write(w.t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		w.t.Fatal(err)
	}
}

// next returns the next frame, or how the socket ended; it waits as long as a test has
// patience.
func (w *wire) next() ([]byte, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	_, data, err := w.conn.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("after %d frames, the last %s: %w", w.came, frame.Clip(string(w.last), 300), err)
	}
	w.came, w.last = w.came+1, data
	return data, nil
}

// frame returns the next frame, which must come.
func (w *wire) frame() []byte {
	w.t.Helper()
	data, err := w.next()
	if err != nil {
		w.t.Fatal("no frame came ", err)
	}
	return data
}

// closes reads until the server closes the socket, with a status.
func (w *wire) closes(status websocket.StatusCode) {
	w.t.Helper()
	for {
		if _, err := w.next(); websocket.CloseStatus(err) == status {
			return
		} else if err != nil {
			w.t.Errorf("want it closed with %d: %v", status, err)
			return
		}
	}
}

// read returns the next frame that is no event.
func (w *wire) read() frameIn {
	w.t.Helper()
	for {
		data := w.frame()
		var f frameIn
		if err := json.Unmarshal(data, &f); err != nil {
			w.t.Fatalf("%v in %s", err, data)
		}
		if f.Type != "event" {
			return f
		}
		var e event.Event
		if err := json.Unmarshal(data, &e); err != nil {
			// The id of an event is a string, as that of frames is not always.
			w.t.Fatal(err)
		}
		w.events = append(w.events, e)
	}
}

// reply returns the next frame that is neither an event nor packets.
func (w *wire) reply() frameIn {
	w.t.Helper()
	for {
		f := w.read()
		if f.Type != "packets" {
			return f
		}
		w.packets = append(w.packets, f.Packets...)
	}
}

// ask writes a frame and returns its reply.
func (w *wire) ask(frame string) frameIn {
	w.t.Helper()
	w.write(frame)
	return w.reply()
}

// until gathers packets until done says so.
func (w *wire) until(done func(packet.Packet) bool) []packet.Packet {
	w.t.Helper()
	for i := 0; ; i++ {
		for i >= len(w.packets) {
			f := w.read()
			if f.Type != "packets" {
				w.t.Fatalf("got a frame %+v while waiting for packets", f)
			}
			w.packets = append(w.packets, f.Packets...)
		}
		if done(w.packets[i]) {
			got := w.packets[:i+1]
			w.packets = w.packets[i+1:]
			return got
		}
	}
}

func says(text string) func(packet.Packet) bool {
	return func(p packet.Packet) bool {
		d, ok := p.Obj.(packet.MessageDelta)
		return ok && strings.Contains(d.Content, text)
	}
}

func textOf(packets []packet.Packet) string {
	var b strings.Builder
	for _, p := range packets {
		if d, ok := p.Obj.(packet.MessageDelta); ok {
			b.WriteString(d.Content)
		}
	}
	return b.String()
}

// checkSeq checks that the packets go on from after without a gap.
func checkSeq(t *testing.T, packets []packet.Packet, after int64) {
	t.Helper()
	for i, p := range packets {
		if p.Seq != after+1+int64(i) {
			t.Fatalf("packet %d has seq %d, want %d", i, p.Seq, after+1+int64(i))
		}
	}
}

func sendFrameText(id, text string) string {
	data, _ := json.Marshal(map[string]any{"type": "send", "id": id, "request_id": uuid.NewString(),
		"text": text}) // strings encode
	return string(data)
}

func TestSendAnswersWithAckBeforePackets(t *testing.T) {
	h := newHost(t)
	h.model.Add(llmtest.Answer().Text("The ", "answer."))
	w := h.dial()
	w.write(sendFrameText("a1", "What?"))
	ack := w.read()
	if ack.Type != "ack" || string(ack.ID) != `"a1"` || ack.Run == "" || ack.Epoch != 1 || ack.SessionID == "" ||
		ack.UserMessageID == "" {
		t.Fatalf("the first frame is %+v", ack)
	}
	packets := w.until(rest.EndsRun)
	checkSeq(t, packets, 0)
	if got := textOf(packets); got != "The answer." {
		t.Errorf("text %q", got)
	}
}

// TestAnAckHasTheTextThatIsStoredWhereItIsNotWhatWasSent, over both ways in.
func TestAnAckHasTheTextThatIsStoredWhereItIsNotWhatWasSent(t *testing.T) {
	h := newHost(t)
	h.screen = func(_ context.Context, _ identity.Principal, text string) (turn.Screened, error) {
		if strings.Contains(text, "forbidden") {
			return turn.Screened{}, &turn.Error{Code: turn.CodeRefused, Message: "Such messages are not taken here."}
		}
		return turn.Screened{Text: strings.ReplaceAll(text, "4711", "[number]")}, nil
	}
	h.model.Add(llmtest.Answer().Text("a"), llmtest.Answer().Text("b"), llmtest.Answer().Text("c"))
	w := h.dial()
	for text, want := range map[string]string{"My card is 4711.": "My card is [number].", "My card is lost.": ""} {
		w.write(sendFrameText("a1", text))
		if ack := w.read(); ack.Type != "ack" || ack.Text != want {
			t.Errorf("%q: the first frame is %+v", text, ack)
		}
		w.until(rest.EndsRun)
	}
	w.write(sendFrameText("a2", "forbidden"))
	if nack := w.read(); nack.Type != "nack" || nack.Error.Code != "refused" ||
		nack.Error.Message != "Such messages are not taken here." {
		t.Errorf("the frame is %+v", nack)
	}
	var ack rest.PostAck
	h.call("POST", apiRoot+"/sessions/new/messages", `{"request_id":"`+uuid.NewString()+`","text":"4711"}`,
		http.StatusAccepted, &ack)
	if ack.Text != "[number]" {
		t.Errorf("the reply is %+v", ack)
	}
}

func TestSameRequestAttachesAgainFromTheStart(t *testing.T) {
	h := newHost(t)
	gate := make(chan struct{})
	h.model.Add(llmtest.Answer().Text("one ").Gate(gate).Text("two"))
	frame := sendFrameText("1", "What?")
	first := h.dial()
	ack := first.ask(frame)
	first.until(says("one"))
	second := h.dial()
	again := second.ask(frame)
	if again.Run != ack.Run || again.UserMessageID != ack.UserMessageID {
		t.Errorf("the same request got %+v, then %+v", ack, again)
	}
	checkSeq(t, second.until(says("one")), 0)
	close(gate)
	for _, w := range []*wire{first, second} {
		w.until(rest.EndsRun)
	}
	changed := strings.Replace(frame, "What?", "Who?", 1)
	if nack := second.ask(changed); nack.Type != "nack" || nack.Error.Code != fault.Conflict {
		t.Errorf("another body under the same id got %+v", nack)
	}
}

func TestResumeGoesOnWhereTheClientWas(t *testing.T) {
	h := newHost(t)
	gate := make(chan struct{})
	h.model.Add(llmtest.Answer().Text("one ").Gate(gate).Text("two"))
	w := h.dial()
	ack := w.ask(sendFrameText("1", "What?"))
	seen := w.until(says("one"))
	last := seen[len(seen)-1].Seq
	w.conn.CloseNow()

	w = h.dial()
	attached := w.ask(`{"type":"attach","id":1,"session_id":"` + ack.SessionID + `"}`)
	if len(attached.LiveRuns) != 1 || attached.LiveRuns[0].Run != ack.Run || attached.LatestRun != ack.Run {
		t.Fatalf("attach got %+v", attached)
	}
	resume := func(epoch, after int64) frameIn {
		f, _ := json.Marshal(map[string]any{"type": "resume", "id": 2, "run": ack.Run, "epoch": epoch,
			"after_seq": after}) // plain values encode
		return w.ask(string(f))
	}
	if r := resume(1, last); r.Type != "ack" || r.Reset || r.Epoch != 1 {
		t.Fatalf("resume got %+v", r)
	}
	close(gate)
	left := w.until(rest.EndsRun)
	checkSeq(t, left, last)
	if got := textOf(seen) + textOf(left); got != "one two" {
		t.Errorf("text over both connections is %q", got)
	}
	// Another epoch: everything from the start, as it is stored by now.
	if r := resume(7, 3); !r.Reset || r.Epoch != 2 {
		t.Fatalf("resume in another epoch got %+v", r)
	}
	checkSeq(t, w.until(rest.EndsRun), 0)
}

func TestStopEndsTheRun(t *testing.T) {
	h := newHost(t)
	h.model.Add(llmtest.Answer().Text("one ").Gate(nil))
	w := h.dial()
	ack := w.ask(sendFrameText("1", "What?"))
	w.until(says("one"))
	for range 2 { // it may be repeated
		if r := w.ask(`{"type":"stop","id":2,"run":"` + ack.Run + `"}`); r.Type != "ack" {
			t.Fatalf("stop got %+v", r)
		}
	}
	packets := w.until(rest.EndsRun)
	if stop := packets[len(packets)-1].Obj.(packet.Stop); stop.Reason != packet.StopUserCancelled {
		t.Errorf("the run stopped with %s", stop.Reason)
	}
}

func TestOneLiveRunPerSession(t *testing.T) {
	h := newHost(t)
	gate := make(chan struct{})
	h.model.Add(llmtest.Answer().Text("one ").Gate(gate))
	w := h.dial()
	ack := w.ask(sendFrameText("1", "What?"))
	second := strings.Replace(sendFrameText("2", "And?"), `"text"`, `"session_id":"`+ack.SessionID+`","text"`, 1)
	if nack := w.ask(second); nack.Type != "nack" || nack.Error.Code != "busy" || nack.Run != ack.Run ||
		string(nack.ID) != `"2"` {
		t.Errorf("a second send got %+v", nack)
	}
	close(gate)
	w.until(rest.EndsRun)
}

func TestDetachLetsTheRunGoOn(t *testing.T) {
	h := newHost(t)
	gate := make(chan struct{})
	h.model.Add(llmtest.Answer().Text("one ").Gate(gate).Text("two"))
	w := h.dial()
	ack := w.ask(sendFrameText("1", "What?"))
	w.until(says("one"))
	if r := w.ask(`{"type":"detach","id":2,"run":"` + ack.Run + `"}`); r.Type != "ack" {
		t.Fatalf("detach got %+v", r)
	}
	close(gate)
	other := h.dial()
	other.ask(`{"type":"resume","id":1,"run":"` + ack.Run + `","epoch":1,"after_seq":0}`)
	if got := textOf(other.until(rest.EndsRun)); got != "one two" {
		t.Errorf("the run's text is %q", got)
	}
	if r := w.ask(`{"type":"ping","id":3}`); r.Type != "pong" || len(w.packets) != 0 {
		t.Errorf("after detach came %d packets, then %+v", len(w.packets), r)
	}
}

func TestBadFramesGetANackThenAClose(t *testing.T) {
	tests := []struct {
		name, frame string
		code        fault.Code
		kind        websocket.MessageType
		close       websocket.StatusCode
	}{
		{"no JSON", `{`, fault.Invalid, websocket.MessageText, websocket.StatusPolicyViolation},
		{"no object", `[1]`, fault.Invalid, websocket.MessageText, websocket.StatusPolicyViolation},
		{"two values", `{"type":"ping"} {}`, fault.Invalid, websocket.MessageText, websocket.StatusPolicyViolation},
		{"unknown field", `{"type":"ping","x":1}`, fault.Invalid, websocket.MessageText,
			websocket.StatusPolicyViolation},
		{"wrong type of a field", `{"type":"stop","run":7}`, fault.Invalid, websocket.MessageText,
			websocket.StatusPolicyViolation},
		{"unknown type", `{"type":"dance"}`, fault.Unsupported, websocket.MessageText, websocket.StatusPolicyViolation},
		{"later type", `{"type":"approve"}`, fault.Unsupported, websocket.MessageText, websocket.StatusPolicyViolation},
		{"no type", `{"id":1}`, fault.Invalid, websocket.MessageText, websocket.StatusPolicyViolation},
		{"odd id", `{"type":"ping","id":{}}`, fault.Invalid, websocket.MessageText, websocket.StatusPolicyViolation},
		{"invalid UTF-8", "{\"type\":\"\xff\"}", fault.Invalid, websocket.MessageText, websocket.StatusPolicyViolation},
		{"binary", `{"type":"ping"}`, fault.Invalid, websocket.MessageBinary, websocket.StatusPolicyViolation},
		{"too large", `{"type":"ping","id":"` + strings.Repeat("x", frame.MaxBytes) + `"}`, fault.TooLarge,
			websocket.MessageText, websocket.StatusMessageTooBig},
	}
	h := newHost(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := h.dial()
			w.t = t
			for i := range maxBadFrames {
				if i == maxBadFrames-1 { // a good frame in between starts the count anew
					if pong := w.ask(`{"type":"ping","id":"x"}`); pong.Type != "pong" {
						t.Fatalf("ping got %+v", pong)
					}
				}
				w.bad(test.kind, test.frame, test.code)
			}
			for range maxBadFrames - 1 {
				w.bad(test.kind, test.frame, test.code)
			}
			w.closes(test.close)
		})
	}
}

func (w *wire) bad(kind websocket.MessageType, frame string, code fault.Code) {
	w.t.Helper()
	if err := w.conn.Write(w.t.Context(), kind, []byte(frame)); err != nil {
		w.t.Fatal(err)
	}
	if nack := w.reply(); nack.Type != "nack" || nack.Error.Code != code || nack.Error.Message == "" {
		w.t.Fatalf("got %+v, want a nack %s", nack, code)
	}
}

func TestRefusalsOfWellFormedFrames(t *testing.T) {
	h := newHost(t)
	w := h.dial()
	id := uuid.NewString()
	for asked, code := range map[string]fault.Code{
		`{"type":"send","text":"x"}`:                                                              fault.Invalid,
		`{"type":"send","request_id":"` + id + `","text":" "}`:                                    fault.Invalid,
		`{"type":"send","request_id":"` + id + `","text":"x","session_id":"s_none"}`:              "unknown_session",
		`{"type":"send","request_id":"` + id + `","text":"x","models":["none"]}`:                  "unknown_model",
		`{"type":"send","request_id":"` + id + `","text":"x","forced_tool":"none"}`:               "unknown_tool",
		`{"type":"send","request_id":"` + id + `","text":"x","deep_research":true}`:               fault.Unsupported,
		`{"type":"send","request_id":"` + id + `","text":"x","options":{"a":1}}`:                  fault.Unsupported,
		`{"type":"send","request_id":"` + id + `","text":"` + strings.Repeat("x", 300<<10) + `"}`: fault.TooLarge,
		`{"type":"regenerate","request_id":"` + id + `","message_id":"m_none"}`:                   "unknown_message",
		`{"type":"select","request_id":"` + id + `","message_id":"m_none"}`:                       "unknown_message",
		`{"type":"continue","request_id":"` + id + `","message_id":"m_none"}`:                     "unknown_message",
		`{"type":"resume","run":"r_none","epoch":1,"after_seq":0}`:                                "unknown_run",
		`{"type":"resume","run":"r_none","epoch":1,"after_seq":-1}`:                               fault.Invalid,
		`{"type":"attach","session_id":"s_none"}`:                                                 "unknown_session",
		`{"type":"stop","run":"r_none"}`:                                                          "unknown_run",
	} {
		if nack := w.ask(asked); nack.Type != "nack" || nack.Error.Code != code {
			t.Errorf("%s got %s %+v, want %s", frame.Clip(asked, 120), nack.Type, nack.Error, code)
		}
	}
}

func TestHeartbeatAfterSilence(t *testing.T) {
	h := newHost(t)
	w := h.dial()
	h.silence()
	if f := w.read(); f.Type != "heartbeat" {
		t.Errorf("after silence came %+v", f)
	}
}

func TestFragmentedAndEmptyFramesAndPings(t *testing.T) {
	h := newHost(t)
	w := h.dial()
	m, err := w.conn.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{`{"ty`, `pe":"pi`, ``, `ng","id":5}`} {
		if _, err := m.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if f := w.read(); f.Type != "pong" || string(f.ID) != "5" {
		t.Errorf("a fragmented ping got %+v", f)
	}
	w.bad(websocket.MessageText, "", fault.Invalid)
	// A control ping is answered while data flows; the pong is read by Read.
	pinged := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	go func() { pinged <- w.conn.Ping(ctx); cancel() }()
	_, _, _ = w.conn.Read(ctx) // reads the pong; ends by cancel
	if err := <-pinged; err != nil {
		t.Errorf("ping: %v", err)
	}
}

func TestLargestFrameIsTaken(t *testing.T) {
	h := newHost(t)
	w := h.dial()
	largest := `{"type":"ping","id":1` + strings.Repeat(" ", frame.MaxBytes-22) + `}`
	if len(largest) != frame.MaxBytes {
		t.Fatal(len(largest))
	}
	if f := w.ask(largest); f.Type != "pong" {
		t.Errorf("a frame of 1 MiB got %+v", f)
	}
}

func TestShutdownClosesSocketsAndKeepsTheRun(t *testing.T) {
	h := newHost(t)
	gate := make(chan struct{})
	h.model.Add(llmtest.Answer().Text("one ").Gate(gate).Text("two"))
	w := h.dial()
	ack := w.ask(sendFrameText("1", "What?"))
	w.until(says("one"))
	down := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { down <- h.server.Shutdown(ctx) }()
	w.closes(websocket.StatusGoingAway)
	if err := <-down; err != nil {
		t.Errorf("shutdown: %v", err)
	}
	close(gate)
	h.waitFor(ack.Run)
	owner, err := h.store.Users().ByName(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	run, err := h.store.Runs().Get(t.Context(), owner.Principal(identity.Command), ack.Run)
	if err != nil || run.StopReason != "completed" {
		t.Errorf("the run ended with %q, %v", run.StopReason, err)
	}
}

func TestHandshakeIsRefusedProperly(t *testing.T) {
	h := newHost(t)
	for name, test := range map[string]struct {
		change func(http.Header)
		status int
	}{
		"no cookie":    {func(x http.Header) { x.Del("Cookie") }, http.StatusUnauthorized},
		"other origin": {func(x http.Header) { x.Set("Origin", "http://evil.example") }, http.StatusForbidden},
		"null origin":  {func(x http.Header) { x.Set("Origin", "null") }, http.StatusForbidden},
	} {
		o := h.dialOptions()
		test.change(o.HTTPHeader)
		conn, res, err := websocket.Dial(t.Context(), h.base+apiRoot+"/ws", o)
		if err == nil {
			conn.CloseNow()
			t.Errorf("%s: the handshake succeeded", name)
		} else if res == nil || res.StatusCode != test.status {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.fails(h.request("GET", apiRoot+"/ws", ""), http.StatusUpgradeRequired, fault.UpgradeRequired)
	// A bad handshake is answered by the responder of our own.
	res, _ := h.do(h.request("GET", apiRoot+"/ws", "", "Connection", "Upgrade", "Upgrade", "websocket",
		"Sec-WebSocket-Version", "12", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="))
	if res.StatusCode != http.StatusBadRequest || res.Header.Get("Sec-WebSocket-Version") != "13" {
		t.Errorf("an old version got %d %v", res.StatusCode, res.Header)
	}
	o := h.dialOptions()
	o.Subprotocols = nil
	conn, _, err := websocket.Dial(t.Context(), h.base+apiRoot+"/ws", o)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	(&wire{t: t, conn: conn}).closes(websocket.StatusPolicyViolation) // it has no subprotocol
}

func TestSignOutClosesItsSockets(t *testing.T) {
	h := newHost(t)
	w := h.dial()
	h.call("POST", apiRoot+"/sign-out", "", http.StatusNoContent, nil)
	w.closes(websocket.StatusPolicyViolation)
	h.fails(h.request("GET", apiRoot+"/me", ""), http.StatusUnauthorized, fault.SignedOut)
}
