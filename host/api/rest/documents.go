package rest

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"path"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/store"
)

type DocumentView struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	URI       string `json:"uri"`
	MediaType string `json:"media_type"`
	Bytes     int64  `json:"bytes"`
	Chunks    int    `json:"chunks"`
	AddedAt   string `json:"added_at"`
	UpdatedAt string `json:"updated_at"`
	// Status is added, updated or unchanged, in the reply to an upload.
	Status string `json:"status,omitempty"`
	// Note says what reading an uploaded document took, such as an assumed encoding.
	Note string `json:"note,omitempty"`
	// Text is there when one document was asked for.
	Text *string `json:"text,omitempty"`
}

type FailedUpload struct {
	Name  string       `json:"name"`
	Error *fault.Error `json:"error"`
}

func viewDocument(d knowledge.Document) DocumentView {
	return DocumentView{ID: d.ID, Title: d.Title, URI: d.URI, MediaType: d.MediaType, Bytes: d.Bytes, Chunks: d.Chunks,
		AddedAt: stamp(d.AddedAt), UpdatedAt: stamp(d.UpdatedAt)}
}

// List lists a person's documents.
func (s documents) List(c *fiber.Ctx) error {
	list, err := s.cfg.Knowledge.List(s.cfg.Context, caller.Of(c).Principal)
	if err = s.readable(err); err != nil {
		return err
	}
	views := make([]DocumentView, 0, len(list))
	for _, d := range list {
		views = append(views, viewDocument(d))
	}
	return c.JSON(fiber.Map{"documents": views})
}

// Post takes files. One that cannot be taken does not keep the others
// out.
func (s documents) Post(c *fiber.Ctx) error {
	form, err := c.MultipartForm()
	if err != nil {
		return fault.New(fault.Invalid, "The body must be multipart/form-data with the files in fields named file.")
	}
	files, uris, modified := form.File["file"], form.Value["uri"], form.Value["modified"]
	if len(files) == 0 {
		return fault.New(fault.Invalid, "The form has no field named file.")
	}
	if len(uris) > 0 && len(uris) != len(files) {
		return fault.New(fault.Invalid, "Give one uri for each file, or none.")
	}
	times, err := s.modTimes(modified, len(files))
	if err != nil {
		return err
	}
	who := caller.Of(c)
	added, failed := []DocumentView{}, []FailedUpload{}
	for i, file := range files {
		uri := ""
		if len(uris) > 0 {
			uri = uris[i]
		}
		view, err := s.takeDocument(s.cfg.Context, who, file, uri, times[i])
		if err != nil {
			failed = append(failed, FailedUpload{fileName(file), s.tell.Of(err, caller.RequestOf(c))})
			continue
		}
		added = append(added, view)
	}
	return c.JSON(fiber.Map{"documents": added, "failed": failed})
}

// modTimes reads when the files were last changed: one time for each, or none,
// which stands for this moment.
func (s documents) modTimes(texts []string, files int) ([]time.Time, error) {
	times := make([]time.Time, files)
	if len(texts) > 0 && len(texts) != files {
		return nil, fault.New(fault.Invalid, "Give one time in modified for each file, or none.")
	}
	for i := range times {
		times[i] = s.cfg.Now()
		if len(texts) > 0 {
			t, err := time.Parse(time.RFC3339, texts[i])
			if err != nil {
				return nil, fault.New(fault.Invalid, "The times in modified must look like 2026-01-31T12:00:00Z.")
			}
			times[i] = t
		}
	}
	return times, nil
}

// fileName is the uploaded file's own name without any folder.
func fileName(file *multipart.FileHeader) string {
	return path.Base(strings.ReplaceAll(file.Filename, `\`, "/"))
}

func (s documents) takeDocument(
	ctx context.Context, who caller.Caller, file *multipart.FileHeader, uri string, modified time.Time,
) (DocumentView, error) {
	f, err := file.Open()
	if err != nil {
		return DocumentView{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return DocumentView{}, err
	}
	src := knowledge.Source{URI: uri, Name: fileName(file), Data: data, ModTime: modified}
	if uri == "" {
		src.URI = "upload:" + src.Name
	}
	if t := file.Header.Get(fiber.HeaderContentType); t != fiber.MIMEOctetStream {
		src.MediaType = t
	}
	added, err := s.cfg.Knowledge.Add(ctx, who.Principal, src)
	if err != nil {
		return DocumentView{}, err
	}
	view := viewDocument(added.Document)
	view.Status, view.Note = string(added.Status), added.Note
	switch added.Status {
	case knowledge.StatusAdded:
		s.ask.Publish(who, event.TopicDocument, view.ID, "created")
	case knowledge.StatusUpdated:
		s.ask.Publish(who, event.TopicDocument, view.ID, "updated")
	}
	return view, nil
}

// Get returns a document with its text.
func (s documents) Get(c *fiber.Ctx) error {
	who, id := caller.Of(c), c.Params("id")
	d, err := s.cfg.Knowledge.Get(s.cfg.Context, who.Principal, id)
	if err != nil {
		return err
	}
	text, _, err := s.cfg.Knowledge.Read(s.cfg.Context, who.Principal, id, 0, 0)
	if err != nil {
		return err
	}
	view := viewDocument(d)
	view.Text = &text
	return c.JSON(view)
}

// Delete forgets a document.
func (s documents) Delete(c *fiber.Ctx) error {
	who, id := caller.Of(c), c.Params("id")
	err := s.cfg.Knowledge.Remove(s.cfg.Context, who.Principal, id)
	if errors.Is(err, store.ErrNotFound) {
		err = knowledge.ErrNotFound
	}
	if err != nil {
		return err
	}
	s.ask.Publish(who, event.TopicDocument, id, "removed")
	return c.SendStatus(fiber.StatusNoContent)
}

// Search searches a person's documents.
func (s documents) Search(c *fiber.Ctx) error {
	limit, err := queryInt(c, "limit", 10)
	if err != nil {
		return err
	}
	q := strings.TrimSpace(c.Query("q"))
	if q == "" {
		return fault.New(fault.Invalid, "The query's q is empty.")
	}
	hits, err := s.cfg.Knowledge.Search(s.cfg.Context, caller.Of(c).Principal,
		knowledge.Query{Text: q, Limit: int(min(max(limit, 1), maxPage))})
	if err != nil {
		return err
	}
	return c.JSON(fiber.Map{"hits": append([]knowledge.Hit{}, hits...)})
}

func stampOrNone(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp(t)
}
