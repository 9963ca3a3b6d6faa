package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/app"
	"github.com/bulkhead-host/bulkhead/host/hostfunc"
	"github.com/bulkhead-host/bulkhead/host/plugintool"
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
		Plugins []rest.Plugin `json:"plugins"`
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
		in, err := plugintool.Inspect(ctx, e, wasm)
		if err != nil {
			return err
		}
		if o.JSON {
			return writeJSON(o.Out, in)
		}
		return showInspection(o.Out, in)
	})
}

func showInspection(out io.Writer, in plugintool.Inspection) error {
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
	for _, gap := range in.Gaps {
		printf(out, "warning   %s\n", gap)
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
	// User is whose documents, memories and files a granted tool reaches, "" for the
	// owner's.
	User string
}

// RunPlugin makes one call of a module that need not be installed, with nothing
// granted but what the grant file says. Documents, memories and files are those of the host
// of the data folder, models those that the configuration names; values of kv and folders
// are not kept.
func RunPlugin(ctx context.Context, o Options, t ToolCall) (err error) {
	request, err := requestOf(t)
	if err != nil {
		return err
	}
	var heard hearing
	request.Report, request.Log = &heard, func(level, message string) { printf(o.Err, "%s: %s\n", level, message) }
	heard.err = o.Err
	host := &remote{o: o, user: t.User}
	defer host.close()
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	services := hostfunc.Services{Knowledge: host, Memories: remoteMemories{host}, Files: remoteFiles{host}}
	if services.Egress, err = app.NewEgress(cfg); err != nil {
		return err
	}
	models, closeModels, err := app.NewCompleter(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeModels()) }()
	services.Models = models
	return withEngine(ctx, o, func(e *engine.Engine) error {
		with := plugintool.Surroundings{Engine: e, Services: services, Audit: noRecord{}}
		response, err := plugintool.Run(ctx, with, request)
		if err != nil {
			return err
		}
		return showResponse(o, response)
	})
}

func requestOf(t ToolCall) (plugintool.Request, error) {
	r := plugintool.Request{Tool: t.Tool, User: "u_run", Arguments: json.RawMessage(t.Arguments)}
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
		if r.Meta, err = plugintool.ReadMeta([]byte(t.Meta)); err != nil {
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

func showResponse(o Options, r plugintool.Response) error {
	ms := float64(r.Duration) / float64(time.Millisecond)
	if o.JSON {
		err := writeJSON(o.Out, callReport{r.Result.Text, r.Result.Failure, r.Result.Structured,
			append([]tool.Document{}, r.Result.Documents...), append([]tool.HostCall{}, r.Result.HostCalls...),
			r.Fuel, r.MemoryBytes, ms, string(r.Raw)})
		if err != nil {
			return err
		}
	} else {
		switch f := r.Result.Failure; {
		case f == nil:
			printf(o.Out, "%s\n", r.Result.Text)
		case r.Result.Text != "" && r.Result.Text != f.Message:
			printf(o.Err, "the model is told: %s\n", r.Result.Text)
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
