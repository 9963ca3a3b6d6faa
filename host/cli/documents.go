package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/knowledge/gather"
)

const (
	// maxBatch and maxBatchBytes bound one upload of several files.
	maxBatch      = 32
	maxBatchBytes = 8 << 20
)

// document is a document as the host lists it.
type document struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	URI       string    `json:"uri"`
	MediaType string    `json:"media_type"`
	Bytes     int64     `json:"bytes"`
	Chunks    int       `json:"chunks"`
	AddedAt   time.Time `json:"added_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Status    string    `json:"status,omitempty"`
	Note      string    `json:"note,omitempty"`
}

// failure is a file that was not taken.
type failure struct {
	Name  string `json:"name"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// uploaded is the host's reply to an upload, and of several together.
type uploaded struct {
	Documents []document `json:"documents"`
	Failed    []failure  `json:"failed"`
}

// AddDocuments adds the files at paths, and all documents in the folders among
// them. It goes on after a file that cannot be taken, and fails in the end.
func AddDocuments(ctx context.Context, o Options, c *Client, paths []string) error {
	total := uploaded{Documents: []document{}, Failed: []failure{}}
	var batch []knowledge.Source
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		reply, err := c.upload(ctx, batch)
		if err != nil {
			return err
		}
		total.Documents = append(total.Documents, reply.Documents...)
		total.Failed = append(total.Failed, reply.Failed...)
		progress(o, reply)
		batch, size = nil, 0
		return nil
	}
	for src, err := range gather.Walk(paths) {
		switch {
		case errors.Is(err, gather.ErrSkipped):
			continue
		case err != nil:
			total.Failed = append(total.Failed, failedFile(src, err))
			printf(o.Err, "bulkhead: %v\n", err)
			continue
		}
		if size += len(src.Data); len(batch) > 0 && (len(batch) == maxBatch || size > maxBatchBytes) {
			if err := flush(); err != nil {
				return err
			}
			size = len(src.Data)
		}
		batch = append(batch, src)
	}
	if err := flush(); err != nil {
		return err
	}
	return reportAdded(o, total)
}

func failedFile(src knowledge.Source, err error) failure {
	f := failure{Name: src.URI}
	f.Error.Code, f.Error.Message = "unreadable", err.Error()
	return f
}

// progress says what became of a batch.
func progress(o Options, reply uploaded) {
	for _, d := range reply.Documents {
		printf(o.Err, "%-9s %s\n", d.Status, d.URI)
		if d.Note != "" {
			printf(o.Err, "%-9s %s\n", "", d.Note)
		}
	}
	for _, f := range reply.Failed {
		printf(o.Err, "bulkhead: %s: %s\n", f.Name, f.Error.Message)
	}
}

func reportAdded(o Options, total uploaded) error {
	if o.JSON {
		if err := writeJSON(o.Out, total); err != nil {
			return err
		}
	} else {
		count := map[string]int{}
		for _, d := range total.Documents {
			count[d.Status]++
		}
		printf(o.Out, "%d added, %d updated, %d unchanged\n", count["added"], count["updated"], count["unchanged"])
	}
	switch {
	case len(total.Failed) == 1:
		return errors.New("one file was not taken")
	case len(total.Failed) > 1:
		return fmt.Errorf("%d files were not taken", len(total.Failed))
	case len(total.Documents) == 0:
		return errors.New("there is no document at the given paths; Markdown, plain text and HTML can be added")
	}
	return nil
}

// upload sends files in one request.
func (c *Client) upload(ctx context.Context, files []knowledge.Source) (uploaded, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, f := range files {
		if err := addFile(form, f); err != nil {
			return uploaded{}, err
		}
	}
	if err := form.Close(); err != nil {
		return uploaded{}, err
	}
	res, err := c.request(ctx, http.MethodPost, "/documents", form.FormDataContentType(), &body, "application/json")
	if err != nil {
		return uploaded{}, err
	}
	var reply uploaded
	err = readReply(res, &reply)
	return reply, err
}

// addFile adds a file to a form. A header takes no control character, and names
// of files may have them; the URI goes as it is.
func addFile(form *multipart.Writer, f knowledge.Source) error {
	header := make(textproto.MIMEHeader)
	header.Set("Content-Disposition", multipart.FileContentDisposition("file", Printable(f.Name)))
	header.Set("Content-Type", "application/octet-stream") // the host judges by name and bytes
	part, err := form.CreatePart(header)
	if err != nil {
		return err
	}
	if _, err := part.Write(f.Data); err != nil {
		return err
	}
	if err := form.WriteField("modified", f.ModTime.UTC().Format(time.RFC3339Nano)); err != nil {
		return err
	}
	return form.WriteField("uri", f.URI)
}

// ListDocuments lists the documents.
func ListDocuments(ctx context.Context, o Options, c *Client) error {
	var reply struct {
		Documents []document `json:"documents"`
	}
	if err := c.call(ctx, http.MethodGet, "/documents", nil, &reply); err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(o.Out, reply)
	}
	if len(reply.Documents) == 0 {
		printf(o.Err, "There are no documents. bulkhead knowledge add PATH adds some.\n")
		return nil
	}
	return table(o.Out, "ID\tTITLE\tPASSAGES\tSOURCE", func(w io.Writer) {
		for _, d := range reply.Documents {
			printf(w, "%s\t%s\t%d\t%s\n", d.ID, shorten(d.Title), d.Chunks, d.URI)
		}
	})
}

// RemoveDocuments removes documents, each named by its id or its source.
func RemoveDocuments(ctx context.Context, o Options, c *Client, names []string) error {
	var reply struct {
		Documents []document `json:"documents"`
	}
	if err := c.call(ctx, http.MethodGet, "/documents", nil, &reply); err != nil {
		return err
	}
	ids := make([]string, 0, len(names))
	for _, name := range names {
		id := ""
		for _, d := range reply.Documents {
			if d.ID == name || d.URI == name || d.URI == absolute(name) {
				id = d.ID
			}
		}
		if id == "" {
			return fmt.Errorf("there is no document %s; bulkhead knowledge list shows them", name)
		}
		ids = append(ids, id)
	}
	for i, id := range ids {
		if err := c.call(ctx, http.MethodDelete, "/documents/"+pathEscape(id), nil, nil); err != nil {
			return err
		}
		printf(o.Err, "removed   %s\n", names[i])
	}
	return nil
}

// SearchDocuments shows the passages that fit a question best.
func SearchDocuments(ctx context.Context, o Options, c *Client, text string, limit int) error {
	query := url.Values{"q": {text}, "limit": {strconv.Itoa(limit)}}
	var reply struct {
		Hits []json.RawMessage `json:"hits"`
	}
	if err := c.call(ctx, http.MethodGet, "/documents/search?"+query.Encode(), nil, &reply); err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(o.Out, reply)
	}
	if len(reply.Hits) == 0 {
		printf(o.Err, "No document matches.\n")
		return nil
	}
	for i, raw := range reply.Hits {
		var h knowledge.Hit
		if err := json.Unmarshal(raw, &h); err != nil {
			return fmt.Errorf("read the host's reply: %w", err)
		}
		title := h.Title
		if h.Section != "" {
			title += " › " + h.Section
		}
		printf(o.Out, "%d. %s\n   %s\n   %s\n", i+1, title, h.URI, strings.Join(strings.Fields(h.Snippet), " "))
	}
	return nil
}

// table writes lines of columns that are parted by tabs.
func table(out io.Writer, head string, rows func(io.Writer)) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	printf(w, "%s\n", head)
	rows(w)
	return w.Flush()
}

// writeJSON writes v as one JSON value, indented.
func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
