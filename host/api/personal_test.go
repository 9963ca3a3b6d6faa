package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// become signs in as a new user.
func (h *testHost) become(name string, operator bool) {
	h.t.Helper()
	user, err := h.store.Users().Create(h.t.Context(), anOperator, name, operator)
	if err != nil {
		h.t.Fatal(err)
	}
	token, _, err := h.store.SignIns().CreateLink(h.t.Context(), anOperator, user.ID, time.Hour)
	if err != nil {
		h.t.Fatal(err)
	}
	if h.cookie, _, err = h.store.SignIns().RedeemLink(h.t.Context(), token); err != nil {
		h.t.Fatal(err)
	}
}

func TestMemoriesAreWrittenListedChangedAndDeleted(t *testing.T) {
	h := newHost(t)
	w := h.dial()
	type reply struct{ Memory rest.MemoryView }
	type all struct{ Memories []rest.MemoryView }
	var tea, again, changed reply
	h.call("POST", apiRoot+"/memories", `{"text":" I drink tea. "}`, http.StatusCreated, &tea)
	if tea.Memory.Text != "I drink tea." || tea.Memory.ID == "" || tea.Memory.CreatedAt == "" {
		t.Fatalf("%+v", tea)
	}
	h.call("POST", apiRoot+"/memories", `{"text":"I drink tea."}`, http.StatusOK, &again)
	h.call("PATCH", apiRoot+"/memories/"+tea.Memory.ID, `{"text":"I drink coffee."}`, http.StatusOK, &changed)
	if again.Memory.ID != tea.Memory.ID || changed.Memory.Text != "I drink coffee." {
		t.Errorf("%+v %+v", again, changed)
	}
	var list all
	if h.call("GET", apiRoot+"/memories", "", http.StatusOK, &list); len(list.Memories) != 1 ||
		list.Memories[0].Text != "I drink coffee." {
		t.Errorf("%+v", list)
	}
	one := apiRoot + "/memories/" + tea.Memory.ID
	owner := h.cookie
	h.become("eve", true)
	if h.call("GET", apiRoot+"/memories", "", http.StatusOK, &list); len(list.Memories) != 0 {
		t.Errorf("eve sees %+v", list)
	}
	h.fails(h.request("PATCH", one, `{"text":"x"}`), http.StatusNotFound, "unknown_memory")
	h.fails(h.request("DELETE", one, ""), http.StatusNotFound, "unknown_memory")
	h.cookie = owner
	h.call("DELETE", one, "", http.StatusNoContent, nil)
	h.fails(h.request("DELETE", one, ""), http.StatusNotFound, "unknown_memory")
	for _, body := range []string{`{"text":" "}`, `{"text":"` + strings.Repeat("x", store.MaxMemoryRunes+1) + `"}`,
		`{"memory":"x"}`, `{`} {
		h.fails(h.request("POST", apiRoot+"/memories", body), http.StatusBadRequest, fault.Invalid)
	}
	for _, change := range []string{"created", "updated", "removed"} {
		if e := w.event(); e.Topic != "memory" || e.Change != change || e.ID != tea.Memory.ID {
			t.Errorf("event %+v, want %s", e, change)
		}
	}
}

// event waits for the next event that nobody has looked at.
func (w *wire) event() event.Event {
	w.t.Helper()
	for len(w.events) == 0 {
		var head struct {
			Type string
			event.Event
		}
		if err := json.Unmarshal(w.frame(), &head); err != nil {
			w.t.Fatal(err)
		}
		if head.Type == "event" {
			w.events = append(w.events, head.Event)
		}
	}
	e := w.events[0]
	w.events = w.events[1:]
	return e
}

type filesReply struct {
	Files  []rest.FileView     `json:"files"`
	Failed []rest.FailedUpload `json:"failed"`
}

func (h *testHost) attach(files map[string]string) filesReply {
	h.t.Helper()
	r := h.upload(files)
	r.URL.Path = apiRoot + "/files"
	res, data := h.do(r)
	var out filesReply
	if err := json.Unmarshal(data, &out); err != nil || res.StatusCode != http.StatusOK {
		h.t.Fatalf("%d %s", res.StatusCode, data)
	}
	return out
}

func sendWithFiles(text string, ids ...string) string {
	data, _ := json.Marshal(map[string]any{"request_id": uuid.NewString(), "text": text,
		"files": ids}) // strings encode
	return string(data)
}

func TestFilesAreAttachedSentShownAndDeleted(t *testing.T) {
	h := newHost(t)
	got := h.attach(map[string]string{"harbours.csv": "name;depth\nÅlesund;12\n", "letter.pdf": "%PDF-1.7\n"})
	if len(got.Files) != 1 || len(got.Failed) != 1 || got.Failed[0].Error.Code != "not_text" ||
		!strings.Contains(got.Failed[0].Error.Message, "letter.pdf is a PDF") {
		t.Fatalf("%+v", got)
	}
	file := got.Files[0]
	if file.MediaType != "text/csv" || file.Lines != 2 || file.Encoding != "utf-8" {
		t.Errorf("%+v", file)
	}
	h.model.Add(llmtest.Answer().Text("Twelve."))
	var ack rest.PostAck
	h.call("POST", newMessages, sendWithFiles("How deep is it?", file.ID), http.StatusAccepted, &ack)
	h.waitFor(ack.Run)
	asked := h.model.Requests()[0].Last().Content
	if !strings.HasPrefix(asked, "How deep is it?\n\n=== attached file \"harbours.csv\"") ||
		!strings.Contains(asked, "Ålesund;12\n=== end of file "+file.ID) {
		t.Errorf("the model got %q", asked)
	}
	var detail struct{ Messages []rest.MessageView }
	h.call("GET", apiRoot+"/sessions/"+ack.SessionID, "", http.StatusOK, &detail)
	want := rest.FileRefView{ID: file.ID, Name: "harbours.csv", MediaType: "text/csv", Bytes: 23}
	if files := detail.Messages[0].Files; len(files) != 1 || files[0] != want || len(detail.Messages[1].Files) != 0 {
		t.Errorf("%+v", detail.Messages)
	}
	var whole rest.FileView
	if h.call("GET", apiRoot+"/files/"+file.ID, "", http.StatusOK, &whole); whole.Text == nil ||
		!strings.Contains(*whole.Text, "Ålesund") {
		t.Errorf("%+v", whole)
	}
	owner := h.cookie
	h.become("eve", true)
	for _, method := range []string{"GET", "DELETE"} {
		h.fails(h.request(method, apiRoot+"/files/"+file.ID, ""), http.StatusNotFound, "unknown_file")
	}
	h.fails(h.request("POST", newMessages, sendWithFiles("Mine?", file.ID)), http.StatusNotFound, "unknown_file")
	h.cookie = owner
	h.call("DELETE", apiRoot+"/files/"+file.ID, "", http.StatusNoContent, nil)
	h.fails(h.request("GET", apiRoot+"/files/"+file.ID, ""), http.StatusNotFound, "unknown_file")
	want.Gone = true
	if h.call("GET", apiRoot+"/sessions/"+ack.SessionID, "", http.StatusOK,
		&detail); detail.Messages[0].Files[0] != want {
		t.Errorf("%+v", detail.Messages[0])
	}
	var list filesReply
	if h.call("GET", apiRoot+"/files", "", http.StatusOK, &list); len(list.Files) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestTooLargeAndTooManyFilesAreRefused(t *testing.T) {
	h := newHost(t)
	got := h.attach(map[string]string{"big.txt": strings.Repeat("x", 1<<20+1)})
	if len(got.Files) != 0 || got.Failed[0].Error.Code != fault.TooLarge ||
		!strings.Contains(got.Failed[0].Error.Message, "at most 1 MiB") {
		t.Errorf("%+v", got)
	}
	h.fails(h.request("POST", newMessages, sendWithFiles("What?", "f_none")), http.StatusNotFound, "unknown_file")
	var ids []string
	for i := range store.MaxMessageFiles + 1 {
		ids = append(ids, fmt.Sprint("f_", i))
	}
	h.fails(h.request("POST", newMessages, sendWithFiles("What?", ids...)), http.StatusBadRequest, fault.Invalid)
	h.fails(h.request("POST", apiRoot+"/files", "{}"), http.StatusBadRequest, fault.Invalid)
}
