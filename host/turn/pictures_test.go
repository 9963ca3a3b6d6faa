package turn

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/anthropic"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/llm/ollama"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
	"github.com/bulkhead-host/bulkhead/host/store"
)

func (f *fixture) attachPicture(name string, data []byte) store.File {
	f.t.Helper()
	file, err := f.store.Files().AddPicture(f.t.Context(), f.owner,
		store.File{Name: name, MediaType: "image/png", Width: 6, Height: 4}, data)
	if err != nil {
		f.t.Fatal(err)
	}
	return file
}

// one is a catalog of one model.
type one struct{ llm.Model }

func (o one) Get(name string) (llm.Model, bool) { return o.Model, name == o.Info().Name }
func (o one) Default() string                   { return o.Info().Name }
func (o one) List() []llm.Info                  { return []llm.Info{o.Info()} }

// listener answers each question as a conversation's file says and keeps what it
// was asked.
type listener struct {
	reply scriptedReply
	// mu guards bodies.
	mu     sync.Mutex
	bodies []string
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	if r.Method != http.MethodPost || strings.HasSuffix(r.URL.Path, "/api/show") {
		w.WriteHeader(http.StatusNotFound) // facts about models are not told here
		return
	}
	l.mu.Lock()
	l.bodies = append(l.bodies, string(body))
	l.mu.Unlock()
	w.Header().Set("Content-Type", kinds[l.reply.kind])
	_, _ = w.Write(l.reply.body) // the client left
}

func (l *listener) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bodies[len(l.bodies)-1]
}

// model makes the client of a provider for a model that sees, or not.
func (l *listener) model(t *testing.T, provider string, vision llm.Switch, contextTokens int) llm.Model {
	t.Helper()
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	sleep := func(context.Context, time.Duration) error { return nil }
	able := llm.Abilities{Vision: vision}
	var model llm.Model
	var err error
	switch provider {
	case "openai":
		model, err = openai.New(openai.Config{Name: "m", Model: "m", BaseURL: server.URL, HTTPClient: client,
			Sleep: sleep, Able: able, ContextTokens: contextTokens})
	case "anthropic":
		model, err = anthropic.New(anthropic.Config{Name: "m", Model: "m", BaseURL: server.URL, HTTPClient: client,
			Sleep: sleep, Able: able, ContextTokens: contextTokens})
	default:
		model, err = ollama.New(ollama.Config{Name: "m", Model: "m", BaseURL: server.URL, HTTPClient: client,
			Sleep: sleep, Able: able, ContextTokens: contextTokens})
	}
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// asking is a fixture whose one model is a provider's.
func asking(t *testing.T, provider, conversation string, vision llm.Switch, contextTokens int) (*fixture, *listener) {
	t.Helper()
	c, err := readConversation(filepath.Join("testdata", "conversations", conversation+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{reply: c.replies["local"][0]}
	f := newFixture(t)
	f.cfg.Models = one{l.model(t, provider, vision, contextTokens)}
	return f, l
}

func (f *fixture) answered(in Send) Ack {
	f.t.Helper()
	ack := f.send(in)
	f.read(ack.Run)
	if m := f.message(ack, 0); m.Status != store.StatusCompleted {
		f.t.Fatalf("the answer is %+v", m)
	}
	return ack
}

func TestAPictureReachesEachProvidersModelThatSees(t *testing.T) {
	data := []byte("\x89PNG and its bytes")
	encoded := base64.StdEncoding.EncodeToString(data)
	for provider, c := range map[string]struct{ conversation, carries string }{
		"openai":    {"answer-plain", `"image_url":{"url":"data:image/png;base64,` + encoded},
		"anthropic": {"anthropic-answer", `"data":"` + encoded},
		"ollama":    {"ollama-answer", `"images":["` + encoded},
	} {
		t.Run(provider, func(t *testing.T) {
			f, l := asking(t, provider, c.conversation, llm.Yes, 0)
			boat := f.attachPicture("boat.png", data)
			first := f.answered(Send{Text: "What is it?", Files: []string{boat.ID}})
			if body := l.last(); strings.Count(body, c.carries) != 1 || !strings.Contains(body, "6 × 4 pixels") ||
				!strings.Contains(body, "image 1 of this message") {
				t.Errorf("the model got %s", body)
			}
			f.answered(Send{Text: "And its colour?", SessionID: first.SessionID})
			if body := l.last(); strings.Count(body, c.carries) != 1 {
				t.Errorf("with the next question it got %s", body)
			}
			if err := f.store.Files().Delete(t.Context(), f.owner, boat.ID); err != nil {
				t.Fatal(err)
			}
			f.answered(Send{Text: "Still?", SessionID: first.SessionID})
			if body := l.last(); strings.Contains(body, encoded) || !strings.Contains(body, "was deleted") {
				t.Errorf("after its deletion it got %s", body)
			}
		})
		t.Run(provider+" without eyes", func(t *testing.T) {
			f, l := asking(t, provider, c.conversation, llm.No, 0)
			boat := f.attachPicture("boat.png", data)
			f.answered(Send{Text: "What is it?", Files: []string{boat.ID}})
			if body := l.last(); strings.Contains(body, encoded) ||
				!strings.Contains(body, "an image that you cannot see ===") {
				t.Errorf("the model got %s", body)
			}
		})
	}
}

func TestLaterPicturesTakeThePlaceOfEarlierOnes(t *testing.T) {
	f, l := asking(t, "openai", "answer-plain", llm.Yes, 0)
	var first, second []string
	for i := range 15 {
		first = append(first, f.attachPicture(fmt.Sprint("old", i), fmt.Appendf(nil, "old%02d", i)).ID)
		second = append(second, f.attachPicture(fmt.Sprint("new", i), fmt.Appendf(nil, "new%02d", i)).ID)
	}
	ack := f.answered(Send{Text: "These?", Files: first})
	f.answered(Send{Text: "And these?", SessionID: ack.SessionID, Files: second})
	body := l.last()
	has := func(text string) bool {
		return strings.Contains(body, "base64,"+base64.StdEncoding.EncodeToString([]byte(text)))
	}
	if n := strings.Count(body, "image_url\":{"); n != maxPictures || !has("new00") || !has("new14") || !has("old04") ||
		has("old05") {
		t.Errorf("%d pictures were sent", n)
	}
	if n := strings.Count(body, "later ones take its place"); n != 10 {
		t.Errorf("%d texts stand for the others", n)
	}
}

func TestPicturesBeyondTheBytesOfAQuestionAreNamedInWords(t *testing.T) {
	f, l := asking(t, "openai", "answer-plain", llm.Yes, 0)
	large := bytes.Repeat([]byte("x"), 6<<20)
	var ids []string
	for i := range 3 {
		ids = append(ids, f.attachPicture(fmt.Sprint(i, ".png"), large).ID)
	}
	f.answered(Send{Text: "These?", Files: append(ids, f.attachPicture("small.png", []byte("small")).ID)})
	if body := l.last(); strings.Count(body, "image_url\":{") != 3 ||
		strings.Count(body, "later ones take its place") != 1 {
		t.Errorf("%d pictures in %d bytes", strings.Count(body, "image_url\":{"), len(body))
	}
}

func TestPicturesTakePartOfASmallWindow(t *testing.T) {
	f, l := asking(t, "openai", "answer-plain", llm.Yes, 8000)
	var ids []string
	for i := range 4 {
		ids = append(ids, f.attachPicture(fmt.Sprint(i, ".png"), fmt.Append(nil, "picture", i)).ID)
	}
	f.answered(Send{Text: "These?", Files: ids})
	if n := strings.Count(l.last(), "image_url\":{"); n != 2 {
		t.Errorf("%d pictures of %d tokens were sent into half of 8000", n, llm.ImageTokens)
	}
}

func TestAnothersPictureIsRefused(t *testing.T) {
	f := newFixture(t)
	f.server.Answer(func(llmtest.Request) *llmtest.Reply { return llmtest.Answer().Text("x") })
	boat := f.attachPicture("boat.png", []byte("x"))
	eve, err := f.store.Users().Create(t.Context(), anOperator, "eve", false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Send(t.Context(), eve.Principal(identity.Command), Send{Text: "x", Files: []string{boat.ID}})
	if fault, ok := err.(*Error); !ok || fault.Code != CodeUnknownFile {
		t.Errorf("%v", err)
	}
}
