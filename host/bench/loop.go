package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/host/cite"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/llm/openai"
	"github.com/bulkhead-host/bulkhead/host/loop"
	"github.com/bulkhead-host/bulkhead/host/packet"
)

// load is how many turns run at once, and what each of them is sent.
type load struct {
	turns, tokens int
	// every is the time between two tokens of one turn.
	every time.Duration
}

// fullLoad is 200 turns of 30 tokens a second for three seconds.
var fullLoad = load{turns: 200, tokens: 90, every: time.Second / 30}

// loopTokenLatency measures how long a token takes from the moment before the
// provider writes it to the moment when a reader of the run's log holds its
// packet, through a real connection, the adapter, the step and the log. What of it
// is the provider's decoding is stamped in the same turns.
func loopTokenLatency(ctx context.Context) ([]Result, error) { return fullLoad.measure(ctx) }

func (l load) measure(ctx context.Context) ([]Result, error) {
	server, err := startTokens(l)
	if err != nil {
		return nil, err
	}
	defer server.close()
	turns := make([]*timedTurn, l.turns)
	failures := make([]error, l.turns)
	var wait sync.WaitGroup
	for i := range turns {
		turns[i] = newTimedTurn(l.tokens)
		server.turns[i] = turns[i]
		wait.Go(func() { failures[i] = turns[i].run(ctx, server.base, i) })
	}
	wait.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	var whole, decoding, added []time.Duration
	for _, t := range turns {
		for i := range l.tokens {
			whole = append(whole, t.held[i].Sub(t.written[i]))
			decoding = append(decoding, t.decoded[i].Sub(t.written[i]))
			added = append(added, t.held[i].Sub(t.decoded[i]))
		}
	}
	const reference = "from the provider's write to the adapter's event, in the same turns"
	return []Result{
		Result{Name: "loop/token-latency", Value: quantile(whole, 0.5), Unit: "ms, median"}.below(reference,
			quantile(decoding, 0.5)),
		Result{Name: "loop/token-latency", Value: quantile(whole, 0.99), Unit: "ms, 99 of 100 below"}.below(reference,
			quantile(decoding, 0.99)),
		{Name: "loop/token-latency", Value: quantile(added, 0.5), Unit: "ms, median, without the provider's decoding"},
		{Name: "loop/token-latency", Value: quantile(added, 0.99),
			Unit: "ms, 99 of 100 below, without the provider's decoding"},
	}, nil
}

// below sets the reference of a figure of which less is better.
func (r Result) below(name string, value float64) Result {
	ratio := value / r.Value
	r.Reference, r.ReferenceValue, r.Ratio = &name, &value, &ratio
	return r
}

// quantile returns the time below which the part q of all lies, in milliseconds.
func quantile(times []time.Duration, q float64) float64 {
	slices.Sort(times)
	return float64(times[int(q*float64(len(times)-1))]) / float64(time.Millisecond)
}

// timedTurn is one turn with the three moments of each of its tokens. Each slice
// has one writer, and is read when all is over.
type timedTurn struct {
	written, decoded, held []time.Time
}

func newTimedTurn(tokens int) *timedTurn {
	return &timedTurn{make([]time.Time, tokens), make([]time.Time, tokens), make([]time.Time, tokens)}
}

// run runs the loop against the server, and reads its log as a connection does.
func (t *timedTurn) run(ctx context.Context, base string, i int) error {
	model, err := openai.New(openai.Config{Name: "m", Model: strconv.Itoa(i), BaseURL: base})
	if err != nil {
		return err
	}
	defer model.Close()
	log := journal.New("r_"+strconv.Itoa(i), 1)
	read := make(chan error, 1)
	go func() { read <- t.read(ctx, log) }()
	result := loop.Run(ctx, setup(stamping{model, t.decoded}, log))
	log.Close()
	if err := <-read; err != nil {
		return err
	}
	if result.Error != nil {
		return fmt.Errorf("turn %d: %s", i, result.Error.Message)
	}
	return nil
}

func setup(m llm.Model, log *journal.Log) loop.Setup {
	return loop.Setup{Model: m, System: "Be brief.", History: []llm.Message{{Role: llm.RoleUser, Text: "hello"}},
		Documents: cite.NewDocuments(nil), Emit: packet.NewEmitter(log, 0), Now: time.Now}
}

// read stamps the packets of the log until it ends.
func (t *timedTurn) read(ctx context.Context, log *journal.Log) error {
	seen := 0
	for after := int64(0); ; {
		entries, err := log.Read(ctx, after)
		if err != nil {
			if errors.Is(err, io.EOF) && seen == len(t.held) {
				return nil
			}
			return fmt.Errorf("%d of %d tokens came: %w", seen, len(t.held), err)
		}
		now := time.Now()
		for _, e := range entries {
			if delta, ok := e.Packet.Obj.(packet.MessageDelta); ok {
				// A packet may hold several tokens.
				for range strings.Fields(delta.Content) {
					if seen < len(t.held) {
						t.held[seen] = now
					}
					seen++
				}
			}
		}
		after = entries[len(entries)-1].Seq
	}
}

// stamping notes when the adapter's events come.
type stamping struct {
	llm.Model
	decoded []time.Time
}

// Stream implements llm.Model.
func (s stamping) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		seen := 0
		for ev, err := range s.Model.Stream(ctx, req) {
			if _, ok := ev.(llm.Text); ok && seen < len(s.decoded) {
				s.decoded[seen] = time.Now()
				seen++
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// tokenServer streams tokens at a steady rate, to every turn from its own moment
// on.
type tokenServer struct {
	load
	base   string
	turns  []*timedTurn
	server *http.Server
	served chan struct{}
}

func startTokens(l load) (*tokenServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the tokens: %w", err)
	}
	s := &tokenServer{load: l, base: "http://" + listener.Addr().String() + "/v1", turns: make([]*timedTurn, l.turns),
		served: make(chan struct{})}
	s.server = &http.Server{Handler: s}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(listener) // returns when close closes it
	}()
	return s, nil
}

func (s *tokenServer) close() {
	_ = s.server.Close() // nothing is left to lose
	<-s.served
}

// ServeHTTP implements http.Handler. The model's name is the number of the turn.
func (s *tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	_, rest, _ := bytes.Cut(body, []byte(`"model":"`))
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	at, err := strconv.Atoi(string(name))
	if err != nil || at < 0 || at >= len(s.turns) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	for i := range s.tokens {
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
		s.turns[at].written[i] = time.Now()
		if _, err := w.Write(tokenChunk(i)); err != nil || control.Flush() != nil {
			return
		}
	}
	_, _ = w.Write(lastChunk) // the client left
}

// tokenChunk is one token as servers write it.
func tokenChunk(i int) []byte {
	return fmt.Appendf(nil, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767300000,"model":"m","choices":[{"index":0,"delta":{"content":"word%d "},"finish_reason":null}]}`+"\n\n", i)
}

var lastChunk = []byte(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767300000,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")

// allocTokens is how many tokens the allocations are counted over.
const allocTokens = 20_000

// loopTokenAllocs counts how often a token allocates: from the adapter's event to
// its packet in the log, and beside it in the adapter and the SDK.
func loopTokenAllocs(ctx context.Context) ([]Result, error) {
	var stream bytes.Buffer
	for i := range allocTokens {
		stream.Write(tokenChunk(i))
	}
	stream.Write(lastChunk)
	model, err := openai.New(openai.Config{Name: "m", Model: "m", BaseURL: "http://127.0.0.1:1/v1",
		HTTPClient: &http.Client{Transport: canned(stream.Bytes())}})
	if err != nil {
		return nil, err
	}
	var events []llm.Event
	decoding, err := allocated(func() error {
		events = events[:0]
		for ev, err := range model.Stream(ctx, llm.Request{Messages: []llm.Message{{Role: llm.RoleUser,
			Text: "hello"}}}) {
			if err != nil {
				return err
			}
			events = append(events, ev)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	packets, err := allocated(func() error {
		log := journal.New("r_1", 1)
		defer log.Close()
		if result := loop.Run(ctx, setup(replayed{model, events}, log)); result.Error != nil {
			return errors.New(result.Error.Message)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []Result{Result{Name: "loop/token-allocations", Value: packets, Unit: "allocations per token"}.
		below("the adapter's and the SDK's, from bytes to event", decoding)}, nil
}

// allocated returns how often work allocates for each of allocTokens.
func allocated(work func() error) (float64, error) {
	var before, after runtime.MemStats
	if err := work(); err != nil { // the first run warms caches
		return 0, err
	}
	runtime.ReadMemStats(&before)
	err := work()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / allocTokens, err
}

// canned answers every request with one stream.
type canned []byte

// RoundTrip implements http.RoundTripper.
func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(c)), Request: r}, nil
}

// replayed is a model that says what another said.
type replayed struct {
	llm.Model
	events []llm.Event
}

// Stream implements llm.Model.
func (m replayed) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range m.events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}
