package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// remote reaches what people keep through the host of the data folder, which it connects to
// at the first use. The API knows whose things they are, so principals are not looked at.
type remote struct {
	o      Options
	user   string
	client *Client
}

func (k *remote) connect(ctx context.Context) (*Client, error) {
	if k.client != nil {
		return k.client, nil
	}
	c, err := Connect(ctx, k.o, k.user)
	k.client = c
	return c, err
}

func (k *remote) close() {
	if k.client != nil {
		if err := k.client.Close(); err != nil {
			printf(k.o.Err, "bulkhead: %v\n", err)
		}
	}
}

var (
	_ hostfunc.Knowledge = (*remote)(nil)
	_ hostfunc.Memories  = remoteMemories{}
	_ hostfunc.Files     = remoteFiles{}
)

// ask makes a request of the host. What it does not have is store.ErrNotFound.
func (k *remote) ask(ctx context.Context, method, path string, in, out any) error {
	c, err := k.connect(ctx)
	if err != nil {
		return err
	}
	err = c.call(ctx, method, path, in, out)
	var refused *Refusal
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Code.Status() {
	case fault.NotFound.Status():
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	case fault.Invalid.Status():
		return gate.Errorf(gate.Invalid, "%s", refused.Message)
	default:
		return gate.Errorf(gate.Failed, "%s", refused.Message)
	}
}

// Search implements hostfunc.Knowledge.
func (k *remote) Search(ctx context.Context, _ identity.Principal, q knowledge.Query) ([]knowledge.Hit, error) {
	var reply struct {
		Hits []knowledge.Hit `json:"hits"`
	}
	query := url.Values{"q": {q.Text}, "limit": {strconv.Itoa(max(q.Limit, 1))}}
	err := k.ask(ctx, http.MethodGet, "/documents/search?"+query.Encode(), nil, &reply)
	return reply.Hits, err
}

// Read implements hostfunc.Knowledge.
func (k *remote) Read(ctx context.Context, _ identity.Principal, id string, offset, limit int) (string, int, error) {
	var reply struct {
		Text string `json:"text"`
	}
	err := k.ask(ctx, http.MethodGet, "/documents/"+pathEscape(id), nil, &reply)
	if errors.Is(err, store.ErrNotFound) {
		err = knowledge.ErrNotFound
	}
	if err != nil {
		return "", 0, err
	}
	text := []rune(reply.Text)
	from := min(max(offset, 0), len(text))
	to := len(text)
	if limit > 0 {
		to = min(from+limit, to)
	}
	return string(text[from:to]), len(text), nil
}

// remoteMemories are the memories, and remoteFiles the attached files, that a remote has.
type (
	remoteMemories struct{ *remote }
	remoteFiles    struct{ *remote }
)

// List implements hostfunc.Memories.
func (k remoteMemories) List(ctx context.Context, _ identity.Principal) ([]store.Memory, error) {
	var reply struct {
		Memories []store.Memory `json:"memories"`
	}
	err := k.ask(ctx, http.MethodGet, "/memories", nil, &reply)
	return reply.Memories, err
}

// written is a text that a plugin wrote, as the API takes it. Beyond private_data, which every
// memory has, untrusted_content is all that a label says of data.
func written(text, plugin string, labels []string) any {
	return map[string]any{
		"text": text, "plugin": plugin, "untrusted": slices.Contains(labels, capability.LabelUntrustedContent),
	}
}

// Add implements hostfunc.Memories.
func (k remoteMemories) Add(ctx context.Context, p identity.Principal, m store.Memory) (store.Memory, bool, error) {
	known, err := k.List(ctx, p)
	if err != nil {
		return store.Memory{}, false, err
	}
	done, err := k.write(ctx, http.MethodPost, "/memories", written(m.Text, m.Plugin, m.Labels))
	before := slices.ContainsFunc(known, func(old store.Memory) bool { return old.ID == done.ID })
	return done, err == nil && !before, err
}

// Update implements hostfunc.Memories.
func (k remoteMemories) Update(
	ctx context.Context, _ identity.Principal, id, text, plugin string, labels []string,
) (store.Memory, error) {
	return k.write(ctx, http.MethodPatch, "/memories/"+pathEscape(id), written(text, plugin, labels))
}

func (k *remote) write(ctx context.Context, method, path string, body any) (store.Memory, error) {
	var reply struct {
		Memory store.Memory `json:"memory"`
	}
	err := k.ask(ctx, method, path, body, &reply)
	return reply.Memory, err
}

// Delete implements hostfunc.Memories.
func (k remoteMemories) Delete(ctx context.Context, p identity.Principal, id string) (store.Memory, error) {
	known, err := k.List(ctx, p)
	if err != nil {
		return store.Memory{}, err
	}
	at := slices.IndexFunc(known, func(m store.Memory) bool { return m.ID == id })
	if at < 0 {
		return store.Memory{}, store.ErrNotFound
	}
	return known[at], k.ask(ctx, http.MethodDelete, "/memories/"+pathEscape(id), nil, nil)
}

// List implements hostfunc.Files.
func (k remoteFiles) List(ctx context.Context, _ identity.Principal) ([]store.File, error) {
	var reply struct {
		Files []store.File `json:"files"`
	}
	err := k.ask(ctx, http.MethodGet, "/files", nil, &reply)
	return reply.Files, err
}

// Get implements hostfunc.Files.
func (k remoteFiles) Get(ctx context.Context, _ identity.Principal, id string) (store.File, error) {
	var f store.File
	err := k.ask(ctx, http.MethodGet, "/files/"+pathEscape(id), nil, &f)
	return f, err
}

// Text implements hostfunc.Files.
func (k remoteFiles) Text(ctx context.Context, _ identity.Principal, id string) ([]byte, error) {
	var reply struct {
		Text string `json:"text"`
	}
	err := k.ask(ctx, http.MethodGet, "/files/"+pathEscape(id), nil, &reply)
	return []byte(reply.Text), err
}
