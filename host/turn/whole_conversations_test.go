package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/bulkhead-host/bulkhead/host/config"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/anthropic"
	"github.com/bulkhead-host/bulkhead/host/llm/ollama"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
	"github.com/bulkhead-host/bulkhead/host/screen"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

var update = flag.Bool("update", false, "write what conversations yield into their files")

// adapters make the client of a provider for a model at a loopback server.
var adapters = map[string]func(name, url string, contextTokens int) (llm.Model, error){
	"openai": func(name, url string, contextTokens int) (llm.Model, error) {
		return openai.New(openai.Config{
			Name: name, BaseURL: url + "/v1", Model: name, APIKey: llm.NewKey("sk-secret"),
			ContextTokens: contextTokens,
			Sleep:         func(context.Context, time.Duration) error { return nil },
			HTTPClient:    &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		})
	},
	"openai-plain": func(name, url string, contextTokens int) (llm.Model, error) {
		return openai.New(openai.Config{
			Name: name, BaseURL: url + "/v1", Model: name, APIKey: llm.NewKey("sk-secret"),
			ContextTokens: contextTokens, Able: llm.Abilities{Reasoning: llm.No},
			Sleep:      func(context.Context, time.Duration) error { return nil },
			HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		})
	},
	"anthropic": func(name, url string, contextTokens int) (llm.Model, error) {
		return anthropic.New(anthropic.Config{
			Name: name, BaseURL: url, Model: name, APIKey: llm.NewKey("sk-secret"), ContextTokens: contextTokens,
			Sleep:      func(context.Context, time.Duration) error { return nil },
			HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		})
	},
	"anthropic-search": func(name, url string, contextTokens int) (llm.Model, error) {
		return anthropic.New(anthropic.Config{
			Name: name, BaseURL: url, Model: name, APIKey: llm.NewKey("sk-secret"), ContextTokens: contextTokens,
			NativeSearch: true,
			Sleep:        func(context.Context, time.Duration) error { return nil },
			HTTPClient:   &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		})
	},
	"ollama": func(name, url string, contextTokens int) (llm.Model, error) {
		return ollama.New(ollama.Config{
			Name: name, BaseURL: url, Model: name, ContextTokens: contextTokens,
			Sleep:      func(context.Context, time.Duration) error { return nil },
			HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		})
	},
}

// conversation is one file of testdata/conversations. Its README says what stands
// in it.
type conversation struct {
	archive  *txtar.Archive
	provider string
	tools    []string
	models   []string
	asks     []string
	forced   string
	allow    []string
	// stop is the type of the packet at which the person stops the last run.
	stop string
	// selected is the model whose answer the person takes in the end, continued the
	// one whose answer they let go on.
	selected, continued string
	// regenerated is the model whose answer is written again in the end.
	regenerated string
	// agent answers, where it has a name; removed says that it is removed after the last
	// run, before an answer is taken up again.
	agent         store.Agent
	removed       bool
	cycles        int
	contextTokens int
	// grows says that each request begins with the one before it.
	grows bool
	// rules are what messages are held to.
	rules   []config.ScreenRule
	replies map[string][]scriptedReply
}

// scriptedReply is what the server answers to one request of a model.
type scriptedReply struct {
	status int
	kind   string
	body   []byte
}

var kinds = map[string]string{"sse": "text/event-stream", "ndjson": "application/x-ndjson", "json": "application/json",
	"html": "text/html"}

func readConversation(path string) (*conversation, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	c := &conversation{archive: archive, provider: "openai", replies: map[string][]scriptedReply{}}
	for line := range strings.Lines(string(archive.Comment)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.Contains(key, " ") {
			if err := c.set(key, value); err != nil {
				return nil, err
			}
		}
	}
	if len(c.models) == 0 {
		c.models = []string{"local"}
	}
	for _, f := range archive.Files {
		words := strings.Fields(f.Name)
		if words[0] != "reply" {
			continue
		}
		model, reply := c.models[0], scriptedReply{status: http.StatusOK, kind: "sse", body: f.Data}
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "status":
				reply.status, err = strconv.Atoi(value)
			case "type":
				reply.kind = value
			case "model":
				model = value
			}
		}
		if kinds[reply.kind] == "" || err != nil {
			return nil, fmt.Errorf("bad section %q", f.Name)
		}
		c.replies[model] = append(c.replies[model], reply)
	}
	return c, nil
}

func (c *conversation) set(key, value string) (err error) {
	switch key {
	case "provider":
		c.provider = value
	case "tools":
		c.tools = strings.Fields(value)
	case "models":
		c.models = strings.Fields(value)
	case "ask":
		c.asks = append(c.asks, value)
	case "forced":
		c.forced = value
	case "allow":
		c.allow = slices.DeleteFunc(strings.Fields(value), func(name string) bool { return name == "none" })
	case "stop":
		c.stop = value
	case "select":
		c.selected = value
	case "continue":
		c.continued = value
	case "regenerate":
		c.regenerated = value
	case "agent":
		c.agent.Name = value
	case "instructions":
		c.agent.Instructions = value
	case "agent_tools":
		c.agent.Tools = strings.Fields(value)
	case "agent_model":
		c.agent.Model = value
	case "agent_cycles":
		c.agent.MaxCycles, err = strconv.Atoi(value)
	case "agent_removed":
		c.removed, err = strconv.ParseBool(value)
	case "replace":
		pattern, replacement, _ := strings.Cut(value, " => ")
		c.rules = append(c.rules, config.ScreenRule{Name: pattern, Pattern: pattern, Action: config.ScreenReplace,
			Replacement: replacement})
	case "grows":
		c.grows, err = strconv.ParseBool(value)
	case "max_cycles":
		c.cycles, err = strconv.Atoi(value)
	case "context_tokens":
		c.contextTokens, err = strconv.Atoi(value)
	default:
		err = fmt.Errorf("there is no setting %q", key)
	}
	return err
}

// script is a server that gives each model its replies, one after another.
type script struct {
	// mu guards what follows.
	mu       sync.Mutex
	replies  map[string][]scriptedReply
	requests map[string][]askedRequest
	problems []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/api/show"): // Ollama says what a model is able to
		_, _ = io.WriteString(w, `{"capabilities":["completion","tools","thinking"],"model_info":{"general.architecture":"test","test.context_length":8192}}`)
		return
	case r.Method != http.MethodPost: // other facts about models are not told here
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var asked askedRequest
	if err := json.Unmarshal(body, &asked); err != nil {
		s.problem("a request is no JSON: %v", err)
	}
	s.mu.Lock()
	asked.raw = body
	s.requests[asked.Model] = append(s.requests[asked.Model], asked)
	left := s.replies[asked.Model]
	if len(left) > 0 {
		s.replies[asked.Model] = left[1:]
	}
	s.mu.Unlock()
	if len(left) == 0 {
		s.problem("%s was asked once more than there are replies", asked.Model)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	w.Header().Set("Content-Type", kinds[left[0].kind])
	w.WriteHeader(left[0].status)
	for line := range bytes.Lines(left[0].body) {
		if strings.TrimSpace(string(line)) == ": hold" {
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		if _, err := w.Write(line); err != nil {
			return // the client left
		}
	}
}

func (s *script) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// askedRequest is a request to a provider, as far as the suite shows it.
type askedRequest struct {
	raw   []byte
	Model string
	Tools []struct {
		Name     string
		Function struct{ Name string }
	}
	ToolChoice json.RawMessage `json:"tool_choice"`
	Messages   []struct {
		Role      string
		Content   json.RawMessage
		ToolCalls []struct {
			ID       string
			Function struct {
				Name      string
				Arguments json.RawMessage
			}
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
	}
}

// describe writes requests: what was on offer, and the messages that the one
// before did not have. Of a system message it says whether it has the instructions.
func describe(requests []askedRequest, instructions string) string {
	var b strings.Builder
	var before []string
	instructed := false
	for i, r := range requests {
		var tools []string
		for _, t := range r.Tools {
			tools = append(tools, t.Name+t.Function.Name)
		}
		fmt.Fprintf(&b, "%d tools=%v choice=%s\n", i+1, tools, r.ToolChoice)
		var now []string
		for _, m := range r.Messages {
			line := fmt.Sprintf("%s %s", m.Role, m.Content)
			if m.Role == "system" && instructions != "" && strings.Contains(line, instructions) != instructed {
				instructed = !instructed
				fmt.Fprintf(&b, "  instructions=%v\n", instructed)
			}
			if m.ToolCallID != "" {
				line += " for " + m.ToolCallID
			}
			for _, c := range m.ToolCalls {
				arguments := string(c.Function.Arguments)
				var text string
				if json.Unmarshal(c.Function.Arguments, &text) == nil {
					arguments = text
				}
				line += fmt.Sprintf(" %s=%s(%s)", c.ID, c.Function.Name, arguments)
			}
			now = append(now, line)
		}
		for j, line := range now {
			switch {
			case j < len(before) && before[j] == line:
			case strings.HasPrefix(line, "system ") && j < len(before): // a reminder at its end
				n := 0
				for n < min(len(line), len(before[0])) && line[n] == before[0][n] {
					n++
				}
				if n < 40 { // that of an agent inside a call, or of the answer again
					fmt.Fprintln(&b, "  another system")
					continue
				}
				fmt.Fprintf(&b, "  system … %s\n", strings.TrimSuffix(line[n:], `"`))
			case strings.HasPrefix(line, "system "):
				fmt.Fprintln(&b, "  system")
			default:
				fmt.Fprintln(&b, "  "+shortened(line))
			}
		}
		before = now
	}
	return b.String()
}

// shortened keeps the files readable where a tool says very much.
func shortened(line string) string {
	if len(line) > 600 {
		return line[:200] + " … " + line[len(line)-200:]
	}
	return line
}

// TestConversations holds the conversations of testdata/conversations. It comes
// last by its file's name: go test logs each file that a test opens, and the tests
// of a full disk, which come before, leave that log no room to grow.
func TestConversations(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "conversations", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, path := range paths {
		c, err := readConversation(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		counts[c.provider]++
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			got := c.hold(t)
			if *update && !t.Failed() {
				if err := os.WriteFile(path, txtar.Format(c.with(got)), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, section := range got {
				if want := c.section(section.Name); string(section.Data) != want {
					t.Errorf("%s:\n%s\n(run with -update to accept)", section.Name,
						difference(string(section.Data), want))
				}
			}
		})
	}
	t.Logf("conversations by provider: %v", counts)
	for provider, least := range map[string]int{"openai": 56, "anthropic": 12, "ollama": 12} {
		if counts[provider] < least {
			t.Errorf("there are %d conversations with %s, want at least %d", counts[provider], provider, least)
		}
	}
}

// section returns what the file expects under a name.
func (c *conversation) section(name string) string {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// with returns the archive with sections replaced.
func (c *conversation) with(sections []txtar.File) *txtar.Archive {
	out := &txtar.Archive{Comment: c.archive.Comment}
	for _, f := range c.archive.Files {
		if strings.HasPrefix(f.Name, "reply") {
			out.Files = append(out.Files, f)
		}
	}
	out.Files = append(out.Files, sections...)
	return out
}

// difference shows the first line that differs, with what is around it.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "(nothing)", "(nothing)"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, a, b)
		}
	}
	return "the same"
}

// hold holds the conversation through the real client and returns what came of it.
func (c *conversation) hold(t *testing.T) []txtar.File {
	t.Helper()
	s := &script{replies: c.replies, requests: map[string][]askedRequest{}}
	server := httptest.NewServer(s)
	defer server.Close()
	f := &fixture{t: t, path: filepath.Join(t.TempDir(), "bulkhead.db")}
	f.opened(c, server.URL)
	defer f.close()

	var packets, stored strings.Builder
	names := &callNames{}
	ack, agent := Ack{}, f.addAgent(c.agent)
	for i, ask := range c.asks {
		in := Send{SessionID: ack.SessionID, Text: ask, ForcedTool: c.forced, Tools: c.allow, Models: c.models,
			AgentID: agent}
		ack = f.send(in)
		if c.stop != "" && i == len(c.asks)-1 {
			f.waitFor(ack.Run, func(p packet.Packet) bool { return p.Obj.Type() == c.stop })
			if err := f.Stop(t.Context(), f.owner, ack.Run, nil); err != nil {
				t.Fatal(err)
			}
		}
		inOrder := canonical(f.read(ack.Run)) // read checks the protocol and the replay
		names.learn(inOrder)
		for _, p := range inOrder {
			fmt.Fprintln(&packets, shortened(conversationLine(t, p)))
		}
		for model := range c.models {
			m := f.message(ack, model)
			names.learnThoughts(m)
			writeStored(&stored, m)
		}
	}
	if c.removed {
		if err := f.store.Agents().Delete(t.Context(), anOperator, agent); err != nil {
			t.Fatal(err)
		}
	}
	later, model, cited, ok := c.goOn(f, ack)
	if ok {
		var options []packettest.Option
		if c.regenerated == "" {
			options = append(options, packettest.GoesOn(cited))
		} else {
			ack, model = later, 0
		}
		inOrder := canonical(f.read(later.Run, options...))
		names.learn(inOrder)
		for _, p := range inOrder {
			fmt.Fprintln(&packets, shortened(conversationLine(t, p)))
		}
		writeStored(&stored, f.message(ack, model))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.problems {
		t.Error(p)
	}
	var requests strings.Builder
	for _, model := range c.models {
		if len(s.replies[model]) > 0 {
			t.Errorf("%d replies of %s were not asked for", len(s.replies[model]), model)
		}
		if c.grows {
			checkGrowth(t, s.requests[model])
		}
		requests.WriteString(describe(s.requests[model], c.agent.Instructions))
	}
	address := strings.NewReplacer(strings.TrimPrefix(server.URL, "http://"), "HOST")
	var out []txtar.File
	for _, section := range []struct{ name, text string }{{"packets", packets.String()}, {"stored", stored.String()},
		{"requests", requests.String()}} {
		text := address.Replace(names.in(section.text))
		if strings.Contains(text, "sk-secret") {
			t.Errorf("the key stands in %s", section.name)
		}
		out = append(out, txtar.File{Name: section.name, Data: []byte(text)})
	}
	return out
}

// goOn takes one of the last answers up again, if the conversation says so. cited is
// how many documents the answer had cited.
func (c *conversation) goOn(f *fixture, ack Ack) (later Ack, model, cited int, ok bool) {
	f.t.Helper()
	var err error
	model = max(0, slices.Index(c.models, c.selected+c.continued+c.regenerated))
	cited = len(f.message(ack, model).Citations)
	switch {
	case c.selected != "":
		later, ok, err = f.Select(f.t.Context(), f.owner, Continue{MessageID: ack.MessageIDs[model]})
	case c.regenerated != "":
		ok = true
		later, err = f.Regenerate(f.t.Context(), f.owner,
			Regenerate{MessageID: ack.MessageIDs[model], Models: []string{c.regenerated}})
	case c.continued != "":
		ok = true
		later, err = f.Continue(f.t.Context(), f.owner, Continue{MessageID: ack.MessageIDs[model]})
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return later, model, cited, ok
}

// opened opens the store and a service with the conversation's models and tools.
func (f *fixture) opened(c *conversation, url string) {
	f.t.Helper()
	adapter := adapters[c.provider]
	if adapter == nil {
		f.t.Fatalf("there is no adapter for %q", c.provider)
	}
	var ms models
	for _, name := range c.models {
		m, err := adapter(name, url, c.contextTokens)
		if err != nil {
			f.t.Fatal(err)
		}
		ms = append(ms, m)
	}
	// Ids have a size in tokens, which decides where long texts are cut.
	st, err := store.Open(f.path, store.Options{NewID: func(prefix string) string {
		return fmt.Sprintf("%s_01JKTIDEMARK%014d", prefix, f.ids.Add(1))
	}})
	if err != nil {
		f.t.Fatal(err)
	}
	owner, _, err := st.Users().EnsureOwner(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	var tools []tool.Tool
	for _, name := range c.tools {
		if name == "many" {
			tools = append(tools, manyTools()...)
			continue
		}
		i := slices.IndexFunc(conversationTools, func(t tool.Tool) bool { return t.Spec().Name == name })
		if i < 0 {
			f.t.Fatalf("there is no tool %q", name)
		}
		tools = append(tools, conversationTools[i])
	}
	f.store, f.owner = st, owner.Principal(identity.Command)
	f.Service = New(Config{
		Records: RecordsOf(st), Journal: f.openJournal(st), Observe: f.see, Models: ms, MaxCycles: c.cycles,
		Screen: c.screen(f.t),
		Tools:  func(context.Context, string) ([]tool.Tool, error) { return tools, nil },
	})
}

// screen holds messages to the conversation's rules, as the host does to those of
// its configuration.
func (c *conversation) screen(t *testing.T) func(context.Context, identity.Principal, string) (Screened, error) {
	t.Helper()
	rules, err := screen.New(c.rules)
	if err != nil {
		t.Fatal(err)
	}
	return func(_ context.Context, _ identity.Principal, text string) (Screened, error) {
		out, err := rules.Apply(context.Background(), text, MaxTextBytes)
		taken := Screened{Text: out.Text}
		for _, told := range out.Told {
			taken.Notices = append(taken.Notices, packet.NewNotice(packet.CodeMessageChanged, told))
		}
		return taken, err
	}
}

// canonical puts packets of parallel models and of parallel calls into the order of
// their places, where that order says nothing.
func canonical(packets []packet.Packet) []packet.Packet {
	packets = slices.Clone(packets)
	model := func(p packet.Packet) int {
		if p.Placement.ModelIndex != nil {
			return *p.Placement.ModelIndex
		}
		if _, ok := p.Obj.(packet.Stop); ok {
			return 1 << 20
		}
		return -1
	}
	slices.SortStableFunc(packets, func(a, b packet.Packet) int { return model(a) - model(b) })
	inOrderOf(packets, func(k packet.Key) (string, int) { return fmt.Sprint(k.Model, k.Turn), k.Tab })
	inOrderOf(packets, func(k packet.Key) (string, int) {
		if k.SubTurn < 0 {
			return "", 0
		}
		return fmt.Sprint(k.Model, k.Turn, k.Tab, k.SubTurn), k.SubTab
	})
	return packets
}

// inOrderOf sorts the packets of calls that run at once by their tab. place returns
// the turn of a packet, "" for one that is left where it is, and its tab.
func inOrderOf(packets []packet.Packet, place func(packet.Key) (string, int)) {
	turn := func(p packet.Packet) string {
		t, _ := place(p.Placement.Key())
		return t
	}
	for i := 0; i < len(packets); i++ {
		if _, ok := packets[i].Obj.(packet.ToolArgs); !ok || turn(packets[i]) == "" {
			continue
		}
		end := i
		for end < len(packets) && turn(packets[end]) == turn(packets[i]) &&
			(ofTool(packets[end]) || packets[end].Placement.SubTurnIndex != nil) {
			end++
		}
		slices.SortStableFunc(packets[i:end], func(a, b packet.Packet) int {
			_, x := place(a.Placement.Key())
			_, y := place(b.Placement.Key())
			return x - y
		})
		i = max(i, end-1)
	}
}

// ofTool tells whether a packet comes while calls run.
func ofTool(p packet.Packet) bool {
	switch p.Obj.(type) {
	case packet.MessageStart, packet.ReasoningStart, packet.Usage, packet.Stop, packet.Error:
		return false
	}
	return true
}

// conversationLine writes a packet as "model.turn.tab json", inside an agent as
// "model.turn.tab/subturn.subtab json", without what differs
// between runs.
func conversationLine(t *testing.T, p packet.Packet) string {
	model := "-"
	if p.Placement.ModelIndex != nil {
		model = strconv.Itoa(*p.Placement.ModelIndex)
	}
	data, err := packet.EncodeObj(timeless(p.Obj))
	if err != nil {
		t.Fatal(err)
	}
	place := fmt.Sprintf("%s.%d.%d", model, p.Placement.TurnIndex, p.Placement.TabIndex)
	if k := p.Placement.Key(); k.SubTurn >= 0 {
		place += fmt.Sprintf("/%d.%d", k.SubTurn, k.SubTab)
	}
	return place + " " + string(data)
}

// callNames gives call ids names that are the same in each run.
type callNames struct {
	pairs    []string
	calls    int
	thoughts int
}

func (n *callNames) learn(packets []packet.Packet) {
	for _, p := range packets {
		if o, ok := p.Obj.(packet.ToolStart); ok {
			n.calls++
			n.pairs = append(n.pairs, o.CallID, fmt.Sprintf("call_%d", n.calls))
		}
	}
	n.sort()
}

// learnThoughts learns the ids of calls that no block shows.
func (n *callNames) learnThoughts(m Message) {
	for _, step := range m.Steps {
		for _, c := range step.Calls {
			if !slices.Contains(n.pairs, c.ID) {
				n.thoughts++
				n.pairs = append(n.pairs, c.ID, fmt.Sprintf("thought_%d", n.thoughts))
			}
		}
	}
	n.sort()
}

// sort puts longer ids first: one may begin with a shorter one.
func (n *callNames) sort() {
	pairs := slices.Collect(slices.Chunk(n.pairs, 2))
	slices.SortStableFunc(pairs, func(a, b []string) int { return len(b[0]) - len(a[0]) })
	n.pairs = slices.Concat(pairs...)
}

func (n *callNames) in(text string) string { return strings.NewReplacer(n.pairs...).Replace(text) }

// writeStored writes an answer as the store keeps it.
func writeStored(b *strings.Builder, m Message) {
	fmt.Fprintf(b, "%s %q\n", m.Status, m.Text)
	if m.ErrorCode != "" {
		fmt.Fprintf(b, "  error %s: %s\n", m.ErrorCode, m.ErrorMessage)
	}
	for _, s := range m.Steps {
		if s.Note != "" {
			fmt.Fprintf(b, "  note %q\n", s.Note)
			continue
		}
		fmt.Fprintf(b, "  step %q", s.Text)
		if s.Reasoning != "" {
			fmt.Fprintf(b, " reasoning %q", s.Reasoning)
		}
		fmt.Fprintln(b)
		for i, c := range s.Calls {
			r := s.Results[i]
			state := "ok"
			if r.Failed() {
				state = "failed"
			}
			fmt.Fprintln(b, shortened(fmt.Sprintf("    %s %s(%s) %s %q", c.ID, c.Name, c.Arguments, state, r.Text)))
			for _, d := range r.Documents {
				fmt.Fprintf(b, "      [%d] %s\n", d.Ref, d.ID)
			}
		}
	}
	for _, c := range m.Citations {
		fmt.Fprintf(b, "  citation %d is ref %d %s\n", c.CitationNumber, c.Ref, c.Document.ID)
	}
}
