// Package turn is the outermost loop: one message of a person. It checks the
// message, makes it durable, works out an immutable setup, runs every chosen
// model on it, and persists the outcome once, whoever got there first: the end,
// a stop, or the next start after a crash.
//
// Requests of a person come in; acknowledgements, and readers of a run's log, go
// out. It knows nothing of HTTP, WebSocket or Wasm.
package turn

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
)

// Models is where models come from. It is safe for concurrent use.
type Models interface {
	// Get returns the model that a person calls by name.
	Get(name string) (llm.Model, bool)
	// Default is the name of the model for those who choose none.
	Default() string
}

// Tools returns the tools that a user may use now, with distinct names.
type Tools func(ctx context.Context, userID string) ([]tool.Tool, error)

// Config is what a Service works with.
type Config struct {
	Records Records
	// Journal keeps the records of runs, in the transactions of Records.
	Journal *journal.Local
	Models  Models
	Tools   Tools
	// Resolve says which tools are meant by words, which are identities or names; nil
	// where each tool is meant by what its Spec says.
	Resolve func(ctx context.Context, words []string) ([]toolset.Meant, error)
	// MaxCycles is the limit of cycles per model, 0 for the loop's default.
	MaxCycles int
	// Now is the clock, nil for the real one.
	Now func() time.Time
	// After is time.After, nil for the real one.
	After func(time.Duration) <-chan time.Time
	// Changed is told of sessions whose list entry changed; nil to tell nobody.
	Changed func(userID, sessionID string)
	// Screen sees a person's message before it is stored and may rewrite it, or refuse
	// it with an *Error, best of CodeRefused; nil to take every message as it is. It
	// is asked again when a request is repeated.
	Screen func(ctx context.Context, p identity.Principal, text string) (Screened, error)
	// Observe is shown every packet of every run, those of one run in order and
	// one at a time, by a reader of its own that keeps nobody waiting; nil for
	// nobody.
	Observe func(packet.Packet)
	Logger  *slog.Logger
}

// Screened is a message that Config.Screen took.
type Screened struct {
	// Text is what is stored.
	Text string
	// Notices tell the person what was changed; they begin the run.
	Notices []packet.Notice
}

// Service runs turns. Make one with New, call Recover before the first request
// and Close at the end. It is safe for concurrent use.
type Service struct {
	cfg Config

	// mu guards live and closing.
	mu      sync.Mutex
	live    map[string]*liveRun
	closing bool
	// quit is closed when closing is set.
	quit chan struct{}
	// running counts the goroutines of live runs.
	running sync.WaitGroup
}

// liveRun is a run that this process works on.
type liveRun struct {
	owner   string
	session string
	log     *journal.Log
	// cancel ends the whole run, cancelModel one model of it.
	cancel      context.CancelCauseFunc
	cancelModel []context.CancelCauseFunc
	// done is closed when the outcome is persisted.
	done chan struct{}
}

// The causes for which a run's context ends.
var (
	errStopped  = errors.New("stopped by the person")
	errShutdown = errors.New("the host is shutting down")
)

// New returns a service.
func New(config Config) *Service {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.After == nil {
		config.After = time.After
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Changed == nil {
		config.Changed = func(string, string) {}
	}
	return &Service{cfg: config, live: map[string]*liveRun{}, quit: make(chan struct{})}
}

// Close ends all live runs as interrupted, keeps what they produced, and waits
// for them until ctx is done. A run whose outcome the disk does not take is left
// to the next start. No request is taken afterwards.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		close(s.quit)
	}
	for _, run := range s.live {
		run.cancel(errShutdown)
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// find returns a live run to which p may do the action.
func (s *Service) find(p identity.Principal, a identity.Action, run string) (*liveRun, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.live[run]
	if !ok {
		return nil, false
	}
	of := identity.Resource{Kind: identity.RunKind, ID: run, Owner: l.owner}
	return l, identity.Authorize(p, a, of) == nil
}

// Stop ends a run, or one model of it, as cancelled by the person. What was
// produced is kept. Stopping what has ended is no error; a run that is not p's
// is unknown_run.
func (s *Service) Stop(ctx context.Context, p identity.Principal, run string, model *int) error {
	l, ok := s.find(p, identity.StopRun, run)
	if !ok {
		_, err := s.cfg.Records.Runs.Get(ctx, p, run)
		return s.fault(err, CodeUnknownRun)
	}
	switch {
	case model == nil:
		l.cancel(errStopped)
	case *model < 0 || *model >= len(l.cancelModel):
		return invalid("The run has no model %d.", *model)
	default:
		l.cancelModel[*model](errStopped)
	}
	return nil
}

// StopAll ends all live runs of a user as Stop does, and returns when their outcomes are
// persisted, or with ctx.Err() when ctx is done first. It is for the user and for operators.
func (s *Service) StopAll(ctx context.Context, p identity.Principal, user string) error {
	whose := identity.Resource{Kind: identity.UserKind, ID: user, Owner: user}
	if err := identity.Authorize(p, identity.StopRuns, whose); err != nil {
		return err
	}
	var runs []*liveRun
	s.mu.Lock()
	for _, l := range s.live {
		if l.owner == user {
			runs = append(runs, l)
		}
	}
	s.mu.Unlock()
	for _, l := range runs {
		l.cancel(errStopped)
	}
	for _, l := range runs {
		select {
		case <-l.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// LiveRun names a run that is going on.
type LiveRun struct {
	Run   string `json:"run"`
	Epoch int64  `json:"epoch"`
}

// Live returns the live runs of a session and its latest run, "" if it has none.
func (s *Service) Live(
	ctx context.Context, p identity.Principal, session string,
) (live []LiveRun, latest string, err error) {
	if _, err := s.cfg.Records.Sessions.Get(ctx, p, session); err != nil {
		return nil, "", s.fault(err, CodeUnknownSession)
	}
	run, err := s.cfg.Records.Runs.Latest(ctx, p, session)
	if errors.Is(err, store.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", s.fault(err, CodeInternal)
	}
	if l, ok := s.find(p, identity.ReadRun, run.ID); ok {
		live = []LiveRun{{run.ID, l.log.Epoch()}}
	}
	return live, run.ID, nil
}

// Wait returns when the outcome of a live run is persisted, at once for one that
// is not live, and with ctx.Err() when ctx is done first. A run that is not p's is
// unknown_run.
func (s *Service) Wait(ctx context.Context, p identity.Principal, run string) error {
	l, ok := s.find(p, identity.ReadRun, run)
	if !ok {
		_, err := s.cfg.Records.Runs.Get(ctx, p, run)
		return s.fault(err, CodeUnknownRun)
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
