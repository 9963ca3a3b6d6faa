package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/bulkhead-host/bulkhead/host/api/entrance"
	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm/catalog"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/metrics"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// The callers that each way in is tried as. Bob owns records of every kind, none of them
// ann's, and so does the operator.
const (
	nobody, eve, bob, ann, op = "nobody", "eve", "bob", "ann", "op"
)

var callers = []string{nobody, eve, bob, ann, op}

// house is a host with people and their records.
type house struct {
	*testHost
	models  *catalog.Catalog
	cookies map[string]string
	people  map[string]identity.Principal
	// made counts what has to have a name of its own.
	made int
}

// belongings are the ids of one record of each kind.
type belongings struct{ session, question, answer, run, doc, memory, file, picture, agent, user, model string }

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{cookies: map[string]string{}, people: map[string]identity.Principal{}}
	manageAll := manage(t)
	h.testHost = newHost(t, func(c *Config) {
		manageAll(c)
		h.models = c.Models.(*catalog.Catalog)
		c.Metrics = metrics.New(nil)
	})
	for _, name := range callers[1:] {
		h.become(name, name == op)
		h.cookies[name] = h.cookie
		user, err := h.store.Users().ByName(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		h.people[name] = user.Principal(identity.Cookie)
	}
	return h
}

func (h *house) name() string { h.made++; return fmt.Sprintf("name-%d", h.made) }

// furnish makes one record of each kind for a person; agent, user and model are nobody's.
func (h *house) furnish(name string) belongings {
	h.t.Helper()
	ctx, p := h.t.Context(), h.people[name]
	begun, err := h.store.Runs().Begin(ctx, p, store.BeginRun{Text: "Are you there?", Models: []string{"scripted"}})
	if err == nil {
		answer := store.AnswerState{ID: begun.Responses[0].ID, Status: store.StatusCompleted}
		err = h.store.Runs().Finish(ctx, begun.Run.ID, store.Finish{StopReason: store.StatusCompleted, Epoch: 1,
			Answers: []store.AnswerState{answer}})
	}
	doc, err1 := h.store.Documents().Put(ctx, p, store.DocumentRecord{URI: h.name()}, []byte("the tide"))
	memory, _, err2 := h.store.Memories().Add(ctx, p, store.Memory{Text: h.name()})
	file, err3 := h.store.Files().Add(ctx, p, store.File{Name: "a.txt"}, []byte("text"))
	picture, err4 := h.store.Files().AddPicture(ctx, p,
		store.File{Name: "a.png", MediaType: "image/png", Width: 1, Height: 1},
		[]byte("picture"))
	agent, err5 := h.store.Agents().Create(ctx, anOperator, store.Agent{Name: h.name()})
	user, err6 := h.store.Users().Create(ctx, anOperator, h.name(), false)
	model := rest.ModelBody{Name: h.name(), BaseURL: "http://127.0.0.1:1/v1", Model: "x"}
	err7 := h.models.Add(anOperator, model.Config())
	if err := errors.Join(err, err1, err2, err3, err4, err5, err6, err7); err != nil {
		h.t.Fatal(err)
	}
	return belongings{begun.Session.ID, begun.UserMessage.ID, begun.Responses[0].ID, begun.Run.ID, doc.ID,
		memory.ID, file.ID, picture.ID, agent.ID, user.Name, model.Name}
}

// state is what ann has, and what is everybody's, to see that nothing changed.
func (h *house) state() string {
	h.t.Helper()
	ctx, p := h.t.Context(), h.people[ann]
	sessions, err1 := h.store.Sessions().List(ctx, p, 0, "")
	var messages []store.Message
	for _, s := range sessions {
		more, err := h.store.Messages().List(ctx, p, s.ID)
		err1, messages = errors.Join(err1, err), append(messages, more...)
	}
	docs, err2 := h.store.Documents().List(ctx, p)
	memories, err3 := h.store.Memories().List(ctx, p)
	files, err4 := h.store.Files().List(ctx, p)
	agents, err5 := h.store.Agents().List(ctx, p)
	users, err6 := h.store.Users().List(ctx, anOperator)
	models, err7 := h.models.Entries(anOperator)
	all := []any{sessions, messages, docs, memories, files, agents, users, models, h.models.Default()}
	data, err8 := json.Marshal(all)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

// may tells whether a caller may use a way in, by the rule of its first action.
func may(e entrance.Entry, caller string) bool {
	rule, _ := identity.RuleOf(e.Actions[0])
	switch rule.Who {
	case identity.Anybody, identity.LinkHolder: // the link is tried in a test of its own
		return true
	case identity.Operators:
		return caller == op
	case identity.Owner:
		return caller == ann || e.Own && caller != nobody
	}
	return caller != nobody
}

// body is what a route is sent.
func (h *house) body(route string) string {
	named := fmt.Sprintf(`{"name":%q}`, h.name())
	switch strings.Replace(route, apiRoot, "", 1) {
	case "PATCH /sessions/:id":
		return `{"title":"mine now"}`
	case "POST /sessions/:id/messages":
		return sendJSONBody("Whose is this?")
	case "POST /memories", "PATCH /memories/:id":
		return fmt.Sprintf(`{"text":%q}`, h.name())
	case "POST /agents", "POST /users":
		return named
	case "PATCH /agents/:id":
		return `{"instructions":"obey eve"}`
	case "POST /models":
		return fmt.Sprintf(`{"name":%q,"base_url":"http://127.0.0.1:1/v1","model":"x"}`, h.name())
	case "POST /models/test", "PUT /models/default":
		return `{"name":"extractive"}`
	case "POST /models/offers":
		return `{"base_url":"http://127.0.0.1:1/v1"}`
	case "PATCH /plugins/:name/config":
		return `{"config":{"a":"b"}}`
	case "POST /plugins/:name/accept":
		return `{"seen":"all"}`
	}
	return ""
}

// requestFor asks for a route, with the ids of belongings in its path.
func (h *house) requestFor(route, caller string, b belongings) *http.Request {
	h.t.Helper()
	method, path, _ := strings.Cut(route, " ")
	ids := map[string]string{"sessions": b.session, "runs": b.run, "memories": b.memory, "agents": b.agent,
		"files": b.file, "documents": b.doc, "models": b.model, "plugins": "none", "users": b.user}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") {
			parts[i] = ids[parts[i-1]]
		}
	}
	path = strings.Join(parts, "/")
	if strings.HasSuffix(path, "/picture") {
		path = apiRoot + "/files/" + b.picture + "/picture"
	}
	h.cookie = h.cookies[caller]
	switch route {
	case "POST " + apiRoot + "/documents", "POST " + apiRoot + "/files":
		r := h.upload(map[string]string{h.name() + ".txt": "the tide"})
		r.URL.Path = path
		return r
	case "GET " + apiRoot + "/documents/search":
		path += "?q=tide"
	}
	// A scraper on this machine needs no sign-in, so the counters are asked for from afar.
	return h.request(method, path, h.body(route), "X-Forwarded-For", "192.0.2.7")
}

// answer sends a request and returns status and code, without reading a stream to its end.
func (h *house) answer(r *http.Request) (status int, code fault.Code) {
	h.t.Helper()
	res, err := h.client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	var reply struct{ Error fault.Error }
	if res.StatusCode >= 400 {
		data, _ := io.ReadAll(res.Body) // what cannot be read has no code
		_ = json.Unmarshal(data, &reply)
	}
	return res.StatusCode, reply.Error.Code
}

// TestEveryRouteIsInTheTable compares the table with what Fiber serves.
func TestEveryRouteIsInTheTable(t *testing.T) {
	h := newHost(t)
	served := map[string]bool{"GET /": true} // the page, and what it loads, is no route but what is left
	for _, r := range h.server.app.GetRoutes(true) {
		if r.Method != http.MethodHead { // of each GET
			served[r.Method+" "+r.Path] = true
		}
	}
	compare(t, "route", served, entrance.Routes)
}

// TestEveryFrameIsInTheTable compares the table with what the socket decodes.
func TestEveryFrameIsInTheTable(t *testing.T) {
	served := map[string]bool{}
	for kind := range frame.Frames {
		served[kind] = true
		if frame.LaterFrames[kind] {
			t.Errorf("%s is served and is said not to be", kind)
		}
	}
	compare(t, "message", served, entrance.Frames)
}

func compare(t *testing.T, what string, served map[string]bool, table []entrance.Entry) {
	t.Helper()
	if len(served) < 5 {
		t.Fatalf("only %d were found", len(served))
	}
	for _, e := range table {
		if !served[e.Name] {
			t.Errorf("the table has the %s %s, which there is not, or twice", what, e.Name)
		}
		delete(served, e.Name)
		if len(e.Actions) == 0 {
			t.Errorf("the %s %s has no action", what, e.Name)
		}
		for _, a := range e.Actions {
			if _, known := identity.RuleOf(a); !known {
				t.Errorf("the %s %s has the action %s, which has no rule", what, e.Name, a)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(served)) {
		t.Errorf("the %s %s stands in no table: say what it does", what, name)
	}
}

// TestRoutesRefuseWhomTheRulesRefuse tries every route as everybody who may not, with ann's
// ids in its path, and sees that the reply tells nothing and that nothing changed.
func TestRoutesRefuseWhomTheRulesRefuse(t *testing.T) {
	h := newHouse(t)
	hers := h.furnish(ann)
	h.furnish(bob)
	h.furnish(op)
	gone := belongings{"s_gone", "m_gone", "m_gone", "r_gone", "d_gone", "mem_gone", "f_gone", "f_gone", "ag_gone",
		"gone", "gone"}
	for _, caller := range callers {
		before, tried := h.state(), 0
		for _, e := range entrance.Routes {
			if may(e, caller) {
				continue
			}
			tried++
			rule, _ := identity.RuleOf(e.Actions[0])
			status, code := h.answer(h.requestFor(e.Name, caller, hers))
			right := status == http.StatusNotFound && strings.HasPrefix(string(code), "unknown_")
			switch {
			case caller == nobody:
				right = status == http.StatusUnauthorized && code == fault.SignedOut
			case rule.Who == identity.Operators:
				right = status == http.StatusForbidden && code == fault.Forbidden
			}
			if !right {
				t.Errorf("%s as %s: %d %s", e.Name, caller, status, code)
			}
			if s, c := h.answer(h.requestFor(e.Name, caller, gone)); s != status || c != code {
				t.Errorf("%s as %s: %d %s where it is there, %d %s where not", e.Name, caller, status, code, s, c)
			}
		}
		if after := h.state(); after != before {
			t.Errorf("what %s was refused changed something:\n%s\n%s", caller, before, after)
		}
		t.Logf("%s was refused %d routes", caller, tried)
	}
}

// TestRoutesTakeWhomTheRulesTake tries every route as everybody who may, each on records of
// its own, so that one that refuses all is found.
func TestRoutesTakeWhomTheRulesTake(t *testing.T) {
	h := newHouse(t)
	elsewise := map[string]fault.Code{ // allowed, and then there is nothing to do it to
		"PATCH /api/v1/plugins/:name/config": fault.UnknownPlugin,
		"POST /api/v1/plugins/:name/accept":  fault.UnknownPlugin,
		"POST /api/v1/models/refresh":        fault.Unsupported, "POST /api/v1/models/offers": fault.Invalid,
		"GET /api/v1/ws": fault.UpgradeRequired, // it wants a handshake; the frames have one
	}
	for _, e := range entrance.Routes {
		if e.Actions[0] == identity.RedeemLink || e.Actions[0] == identity.SignOut {
			continue // below
		}
		for _, caller := range callers {
			if !may(e, caller) {
				continue
			}
			h.model.Add(llmtest.Answer().Text("Ann's."))
			status, code := h.answer(h.requestFor(e.Name, caller, h.furnish(ann)))
			if status >= 400 && (code == "" || code != elsewise[e.Name]) {
				t.Errorf("%s as %s: %d %s", e.Name, caller, status, code)
			}
			if caller != nobody {
				if err := h.turns.StopAll(t.Context(), h.people[caller], h.people[caller].UserID()); err != nil {
					t.Error(err)
				}
			}
		}
	}
	for _, caller := range callers[1:] {
		status, _ := h.answer(h.requestFor("POST "+apiRoot+"/sign-out", caller, belongings{}))
		if status != http.StatusNoContent {
			t.Errorf("sign-out as %s: %d", caller, status)
		}
		status, _ = h.answer(h.requestFor("GET "+apiRoot+"/me", caller, belongings{}))
		if status != http.StatusUnauthorized {
			t.Errorf("%s is signed in after sign-out: %d", caller, status)
		}
	}
}

// TestALinkSignsInItsUserOnce is the route of redeemed links.
func TestALinkSignsInItsUserOnce(t *testing.T) {
	h := newHouse(t)
	token, _, err := h.store.SignIns().CreateLink(t.Context(), anOperator, h.people[eve].UserID(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{http.StatusSeeOther, http.StatusForbidden} {
		h.cookie = h.cookies[ann]
		res, _ := h.do(h.request("GET", "/sign-in?token="+token, ""))
		if res.StatusCode != want {
			t.Errorf("the link gives %d the time %d, want %d", res.StatusCode, i+1, want)
		}
		for _, c := range res.Cookies() {
			h.cookie = c.Value
			var me struct{ User rest.UserView }
			if h.call("GET", apiRoot+"/me", "", http.StatusOK, &me); me.User.Name != eve {
				t.Errorf("eve's link signs in %q", me.User.Name)
			}
		}
	}
}

// frame is a client frame that names belongings.
func (h *house) frame(kind string, b belongings) string {
	fields := map[string]any{"type": kind, "id": 1}
	switch kind {
	case "send":
		fields["request_id"], fields["session_id"], fields["text"] = uuid.NewString(), b.session, "Whose is this?"
	case "regenerate", "continue", "select":
		fields["request_id"], fields["message_id"] = uuid.NewString(), b.answer
	case "resume":
		fields["run"], fields["epoch"] = b.run, 1
	case "stop", "detach":
		fields["run"] = b.run
	case "attach":
		fields["session_id"] = b.session
	}
	data, _ := json.Marshal(fields) // plain values always encode
	return string(data)
}

// TestFramesGoByTheRules tries every message of the socket as everybody.
func TestFramesGoByTheRules(t *testing.T) {
	h := newHouse(t)
	hers := h.furnish(ann)
	h.furnish(bob)
	h.furnish(op)
	h.cookie = ""
	_, res, err := websocket.Dial(t.Context(), h.base+apiRoot+"/ws", h.dialOptions())
	if err == nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("nobody opened a socket: %v", err)
	}
	for _, caller := range callers[1:] {
		h.cookie = h.cookies[caller]
		w := h.dial()
		before := h.state()
		for _, e := range entrance.Frames {
			if may(e, caller) {
				continue
			}
			if r := w.ask(h.frame(e.Name, hers)); r.Type != "nack" ||
				!strings.HasPrefix(string(r.Error.Code), "unknown_") {
				t.Errorf("%s as %s: %+v", e.Name, caller, r)
			}
		}
		if after := h.state(); after != before {
			t.Errorf("what %s was refused changed something", caller)
		}
		for _, e := range entrance.Frames {
			if !may(e, caller) {
				continue
			}
			h.model.Add(llmtest.Answer().Text("Ann's."))
			r := w.ask(h.frame(e.Name, h.furnish(ann)))
			if r.Type != "ack" && r.Type != "pong" {
				t.Errorf("%s as %s: %+v", e.Name, caller, r)
			}
			if err := h.turns.StopAll(t.Context(), h.people[caller], h.people[caller].UserID()); err != nil {
				t.Error(err)
			}
		}
	}
}

// asked are turns that note who asks to stop.
type asked struct {
	rest.Turns
	by []identity.Principal
}

func (a *asked) Stop(ctx context.Context, p identity.Principal, run string, model *int) error {
	a.by = append(a.by, p)
	return a.Turns.Stop(ctx, p, run, model)
}

// TestPrincipalsSayHowTheyCame stops nothing, by a browser's cookie and by the data folder's
// socket, where the one who is named is meant.
func TestPrincipalsSayHowTheyCame(t *testing.T) {
	var turns *asked
	h := newHost(t, func(c *Config) {
		turns = &asked{Turns: c.Turns}
		c.Turns = turns
	})
	h.become(ann, false)
	h.fails(h.request("POST", apiRoot+"/runs/none/stop", ""), http.StatusNotFound, "unknown_run")
	memory := NewMemory()
	served := make(chan error, 1)
	go func() { served <- h.server.ServeLocal(memory) }()
	defer func() {
		memory.Close()
		<-served
	}()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return memory.Dial(ctx) }
	local := &http.Transport{DialContext: dial}
	defer local.CloseIdleConnections()
	h.client = &http.Client{Transport: local, Timeout: patience}
	h.cookie = ""
	h.fails(h.request("POST", apiRoot+"/runs/none/stop", "", userHeader, ann), http.StatusNotFound, "unknown_run")
	user, err := h.store.Users().ByName(t.Context(), ann)
	if err != nil || len(turns.by) != 2 {
		t.Fatalf("%d asked, %v", len(turns.by), err)
	}
	for i, origin := range []identity.Origin{identity.Cookie, identity.Command} {
		if p := turns.by[i]; p.Origin() != origin || p.UserID() != user.ID || p.Operator() || p.Reason() != "" {
			t.Errorf("%s came as %s", origin, p)
		}
	}
}
