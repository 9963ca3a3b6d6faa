package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/api"
	"github.com/bulkhead-host/bulkhead/host/app"
	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/plugin"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// maxModuleBytes is the largest module file that is read.
const maxModuleBytes = 256 << 20

// ListPlugins lists what is installed.
func ListPlugins(ctx context.Context, o Options, c *Client) error {
	var reply struct {
		Plugins []api.Plugin `json:"plugins"`
	}
	if err := c.call(ctx, http.MethodGet, "/plugins", nil, &reply); err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(o.Out, reply)
	}
	if len(reply.Plugins) == 0 {
		printf(o.Err, "No plugin is installed. A binary built by task build brings the built-in ones.\n")
		return nil
	}
	defer tellHeld(o, reply.Plugins)
	return table(o.Out, "NAME\tVERSION\tTOOLS\tGRANTED", func(w io.Writer) {
		for _, p := range reply.Plugins {
			var tools, grants []string
			for _, t := range p.Tools {
				tools = append(tools, t.Name)
			}
			for _, t := range p.Held {
				tools = append(tools, t.Name+" (held)")
			}
			for _, g := range p.Grants {
				grants = append(grants, g.Capability+" "+g.Mode)
			}
			printf(w, "%s\t%s\t%s\t%s\n", p.Name, p.Version, strings.Join(tools, ", "), strings.Join(grants, ", "))
		}
	})
}

// readModule reads a module file.
func readModule(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the plugin: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxModuleBytes {
		return nil, fmt.Errorf("%s is not a module file of at most %d MiB", path, maxModuleBytes>>20)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the plugin: %w", err)
	}
	return wasm, nil
}

// withEngine runs f with an engine that shares the data folder's cache, where
// there is one.
func withEngine(ctx context.Context, o Options, f func(*engine.Engine) error) (err error) {
	cfg := engine.Config{Spares: -1, Logger: o.Logger}
	if dir := app.CacheDir(o.DataDir); isDir(dir) {
		cfg.CacheDir = dir
	}
	e, err := engine.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	return f(e)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// InspectPlugin says what a module is and what it asks for, without running it.
func InspectPlugin(ctx context.Context, o Options, path string) error {
	wasm, err := readModule(path)
	if err != nil {
		return err
	}
	return withEngine(ctx, o, func(e *engine.Engine) error {
		in, err := plugin.Inspect(ctx, e, wasm)
		if err != nil {
			return err
		}
		if o.JSON {
			return writeJSON(o.Out, in)
		}
		return showInspection(o.Out, in)
	})
}

func showInspection(out io.Writer, in plugin.Inspection) error {
	var m struct{ Name, Version, Title string }
	if in.Manifest != nil {
		if err := json.Unmarshal(in.Manifest, &m); err != nil {
			return fmt.Errorf("read the manifest: %w", err)
		}
		printf(out, "%s %s: %s\n", m.Name, m.Version, m.Title)
	} else {
		printf(out, "no manifest: nothing is granted by default\n")
	}
	printf(out, "protocol  %s\nsize      %d bytes\nsha256    %s\n", in.Protocol, in.Size, in.SHA256)
	for _, w := range in.Asks {
		printf(out, "asks      %s: %s\n", w.Capability, w.Sentence)
	}
	for _, f := range in.HostFunctions {
		of := f.Capability
		if of == "" {
			of = "not known to this host"
		}
		printf(out, "imports   %s (%s)\n", f.Name, of)
	}
	for _, u := range in.Undeclared {
		printf(out, "warning   uses %s without asking for it; those calls will be denied\n", u)
	}
	for _, s := range in.Sections {
		printf(out, "section   %s, %d bytes\n", s.Name, s.Size)
	}
	return nil
}

// ToolCall is one call of a module's tool.
type ToolCall struct {
	// File is the module; Tool is the tool's name in it.
	File, Tool string
	// Arguments is a JSON object, "" for {}.
	Arguments string
	// GrantFile holds the grants, "" for none.
	GrantFile string
	// Meta is what the tool may know, as JSON; "" for nothing.
	Meta string
	// User is whose documents a granted tool reaches, "" for the owner's.
	User string
}

// RunPlugin makes one call of a module that need not be installed, with nothing
// granted but what the grant file says.
func RunPlugin(ctx context.Context, o Options, t ToolCall) error {
	request, err := requestOf(t)
	if err != nil {
		return err
	}
	var heard hearing
	request.Report, request.Log = &heard, func(level, message string) { printf(o.Err, "%s: %s\n", level, message) }
	heard.err = o.Err
	base := &remoteKnowledge{o: o, user: t.User}
	defer base.close()
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	guard, err := app.NewEgress(cfg)
	if err != nil {
		return err
	}
	return withEngine(ctx, o, func(e *engine.Engine) error {
		response, err := plugin.Run(ctx, plugin.Surroundings{Engine: e, Knowledge: base, Egress: guard, Audit: noRecord{}}, request)
		if err != nil {
			return err
		}
		return showResponse(o, response)
	})
}

func requestOf(t ToolCall) (plugin.Request, error) {
	r := plugin.Request{Tool: t.Tool, User: "u_run", Arguments: json.RawMessage(t.Arguments)}
	var err error
	if r.WASM, err = readModule(t.File); err != nil {
		return r, err
	}
	if t.Arguments != "" {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(t.Arguments), &object); err != nil || object == nil {
			return r, errors.New(`--args must be a JSON object, such as {"queries":["fuel"]}`)
		}
	}
	if t.Meta != "" {
		if r.Meta, err = plugin.ReadMeta([]byte(t.Meta)); err != nil {
			return r, err
		}
	}
	if t.GrantFile != "" {
		data, err := os.ReadFile(t.GrantFile)
		if err != nil {
			return r, fmt.Errorf("read the grants: %w", err)
		}
		if r.Grants, err = capability.ParseGrants(data); err != nil {
			return r, fmt.Errorf("read the grants in %s: %w", t.GrantFile, err)
		}
	}
	return r, nil
}

// callReport is a call's outcome for a program.
type callReport struct {
	Text        string          `json:"text"`
	Failure     *tool.Failure   `json:"failure,omitempty"`
	Structured  json.RawMessage `json:"structured,omitempty"`
	Documents   []tool.Document `json:"documents"`
	HostCalls   []tool.HostCall `json:"host_calls"`
	Fuel        int64           `json:"fuel"`
	MemoryBytes int64           `json:"memory_bytes"`
	DurationMS  float64         `json:"duration_ms"`
	Raw         string          `json:"raw"`
}

func showResponse(o Options, r plugin.Response) error {
	ms := float64(r.Duration) / float64(time.Millisecond)
	if o.JSON {
		err := writeJSON(o.Out, callReport{r.Result.Text, r.Result.Failure, r.Result.Structured,
			append([]tool.Document{}, r.Result.Documents...), append([]tool.HostCall{}, r.Result.HostCalls...),
			r.Fuel, r.MemoryBytes, ms, string(r.Raw)})
		if err != nil {
			return err
		}
	} else {
		if r.Result.Failure == nil {
			printf(o.Out, "%s\n", r.Result.Text)
		}
		for _, h := range r.Result.HostCalls {
			printf(o.Err, "host call %s: %s, %s, %d bytes\n", h.Capability, h.Summary, h.Decision, h.Bytes)
		}
		fuel := "not metered"
		if r.Fuel > 0 {
			fuel = strconv.FormatInt(r.Fuel, 10)
		}
		printf(o.Err, "%.1f ms, %.1f MiB, fuel %s\n", ms, float64(r.MemoryBytes)/(1<<20), fuel)
	}
	if f := r.Result.Failure; f != nil {
		return fmt.Errorf("%s: %s", f.Kind, f.Message)
	}
	return nil
}

// hearing shows what a call says while it runs.
type hearing struct{ err io.Writer }

// Progress implements tool.Reporter.
func (h *hearing) Progress(message string, fraction *float64) {
	if fraction != nil {
		printf(h.err, "%3.0f %% %s\n", *fraction*100, message)
	} else {
		printf(h.err, "%s\n", message)
	}
}

// Output implements tool.Reporter.
func (h *hearing) Output(channel, delta string) { printf(h.err, "%s: %s\n", channel, delta) }

// Documents implements tool.Reporter; the result has them.
func (*hearing) Documents([]tool.Document) {}

// Files implements tool.Reporter.
func (h *hearing) Files(files []tool.File) {
	for _, f := range files {
		printf(h.err, "file: %s, %s, %d bytes\n", f.Name, f.MediaType, f.Size)
	}
}

// noRecord drops audit entries: a call from the command line is its operator's
// own, and shows every host call at the end.
type noRecord struct{}

// Record implements audit.Recorder.
func (noRecord) Record(audit.Entry) error { return nil }

// remoteKnowledge reaches documents through the host of the data folder, which
// it connects to at the first use.
type remoteKnowledge struct {
	o      Options
	user   string
	client *Client
}

func (k *remoteKnowledge) connect(ctx context.Context) (*Client, error) {
	if k.client != nil {
		return k.client, nil
	}
	c, err := Connect(ctx, k.o, k.user)
	k.client = c
	return c, err
}

func (k *remoteKnowledge) close() {
	if k.client != nil {
		if err := k.client.Close(); err != nil {
			printf(k.o.Err, "bulkhead: %v\n", err)
		}
	}
}

// Search implements plugin.Knowledge.
func (k *remoteKnowledge) Search(ctx context.Context, _ identity.Principal, q knowledge.Query) ([]knowledge.Hit, error) {
	c, err := k.connect(ctx)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Hits []knowledge.Hit `json:"hits"`
	}
	query := url.Values{"q": {q.Text}, "limit": {strconv.Itoa(max(q.Limit, 1))}}
	err = c.call(ctx, http.MethodGet, "/documents/search?"+query.Encode(), nil, &reply)
	return reply.Hits, err
}

// Read implements plugin.Knowledge.
func (k *remoteKnowledge) Read(ctx context.Context, _ identity.Principal, id string, offset, limit int) (string, int, error) {
	c, err := k.connect(ctx)
	if err != nil {
		return "", 0, err
	}
	var reply struct {
		Text string `json:"text"`
	}
	err = c.call(ctx, http.MethodGet, "/documents/"+pathEscape(id), nil, &reply)
	var refused *Refusal
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
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
