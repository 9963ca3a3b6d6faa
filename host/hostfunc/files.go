package hostfunc

import (
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// Files is what plugins reach of the files that people attached.
type Files interface {
	List(ctx context.Context, p identity.Principal) ([]store.File, error)
	Get(ctx context.Context, p identity.Principal, id string) (store.File, error)
	Text(ctx context.Context, p identity.Principal, id string) ([]byte, error)
}

// Runs and Messages lead from a run to the path of messages that it answers.
type (
	Runs interface {
		Get(ctx context.Context, p identity.Principal, id string) (store.Run, error)
	}
	Messages interface {
		Branch(ctx context.Context, p identity.Principal, sessionID, leafMessageID string) ([]store.Message, error)
	}
)

// filesPart serves the capability files.
func filesPart(s Services) part {
	f := attachments{s.Files, s.Runs, s.Messages}
	return part{functions: []gate.Function{
		gate.Typed[fileListArgs]{
			Name: "file_list", Capability: capability.Files, Handle: f.list,
			Summary: func(fileListArgs) string { return "list files" },
		}.Function(),
		gate.Typed[fileReadArgs]{
			Name: "file_read", Capability: capability.Files, Handle: f.read,
			Summary: func(a fileReadArgs) string { return "read file " + a.FileID },
		}.Function(),
	}}
}

// attachments has the files that people attached.
type attachments struct {
	records  Files
	runs     Runs
	messages Messages
}

type fileListArgs struct{}

type fileReadArgs struct {
	FileID string `json:"file_id"`
	// Offset and Limit count Unicode code points; a Limit of 0 is the most.
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
}

// fileView is a file as a guest sees it.
type fileView struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	MediaType  string `json:"media_type"`
	Bytes      int64  `json:"bytes"`
	Characters int    `json:"characters"`
	Lines      int    `json:"lines"`
	CreatedAt  string `json:"created_at"`
}

// reach returns the right under which the call reads.
func (f attachments) reach(c gate.Request) (*capability.FilesParams, error) {
	if f.records == nil {
		return nil, gate.Errorf(gate.Unavailable, "This host keeps no files.")
	}
	params, ok := c.Right.Params.(*capability.FilesParams)
	if !ok || !params.Can("read") {
		return nil, gate.Errorf(gate.Denied, "The capability files was granted without read.")
	}
	return params, nil
}

var errNoConversation = gate.Errorf(gate.Unavailable, "This call belongs to no conversation, so there are no files.")

// reached returns the files that the call may read, in the order in which they
// were attached: those of the person, or those on the path of messages that the
// run answers.
func (f attachments) reached(
	ctx context.Context, c gate.Request, params *capability.FilesParams,
) ([]store.File, error) {
	p := identity.ForUser(c.User, "read attached files for a tool")
	if params.Scope == "user" {
		list, err := f.records.List(ctx, p)
		if len(list) == 0 && err != nil {
			return nil, err
		}
		slices.Reverse(list)
		return list, nil
	}
	if f.runs == nil {
		return nil, errNoConversation
	}
	run, err := f.runs.Get(ctx, p, c.Run)
	if errors.Is(err, store.ErrNotFound) {
		return nil, errNoConversation
	}
	if err != nil {
		return nil, err
	}
	branch, err := f.messages.Branch(ctx, p, run.Session, run.UserMessage)
	if err != nil {
		return nil, err
	}
	var list []store.File
	for _, m := range branch {
		for _, ref := range m.Files {
			if slices.ContainsFunc(list, func(known store.File) bool { return known.ID == ref.ID }) {
				continue
			}
			file, err := f.records.Get(ctx, p, ref.ID)
			if errors.Is(err, store.ErrNotFound) {
				continue // deleted
			}
			if err != nil {
				return nil, err
			}
			list = append(list, file)
		}
	}
	return list, nil
}

func (f attachments) list(ctx context.Context, c gate.Request, _ fileListArgs) (any, error) {
	params, err := f.reach(c)
	if err != nil {
		return nil, err
	}
	list, err := f.reached(ctx, c, params)
	if err != nil {
		return nil, err
	}
	views := make([]fileView, len(list))
	for i, file := range list {
		views[i] = fileView{
			file.ID, file.Name, file.MediaType, file.Bytes, file.Characters, file.Lines,
			file.CreatedAt.Format(time.RFC3339),
		}
	}
	return map[string]any{"files": views}, nil
}

func (f attachments) read(ctx context.Context, c gate.Request, a fileReadArgs) (any, error) {
	params, err := f.reach(c)
	if err != nil {
		return nil, err
	}
	if a.Offset < 0 || a.Limit < 0 {
		return nil, gate.Errorf(gate.Invalid, "offset and limit are not negative.")
	}
	list, err := f.reached(ctx, c, params)
	if err != nil {
		return nil, err
	}
	missing := gate.Errorf(gate.NotFound, "There is no such file in reach.")
	at := slices.IndexFunc(list, func(file store.File) bool { return file.ID == a.FileID })
	if at < 0 {
		return nil, missing
	}
	if file := list[at]; file.Picture() {
		return nil, gate.Errorf(gate.Invalid, "%s is a picture (%s, %d × %d pixels) and has no text to read. "+
			"A model that sees pictures got it with the person's message.",
			file.Name, file.MediaType, file.Width, file.Height)
	}
	text, err := f.records.Text(ctx, identity.ForUser(c.User, "read attached files for a tool"), a.FileID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	if a.Limit == 0 || a.Limit > maxRead {
		a.Limit = maxRead
	}
	return map[string]any{"text": portion(text, a.Offset, a.Limit), "total": utf8.RuneCount(text)}, nil
}

// portion returns limit code points of text from offset.
func portion(text []byte, offset, limit int) string {
	from, to, n := len(text), len(text), 0
	for i := range string(text) {
		if n == offset {
			from = i
		}
		if n == offset+limit {
			to = i
			break
		}
		n++
	}
	return string(text[from:to])
}
