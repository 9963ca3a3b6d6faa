package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/api/caller"
	"github.com/bulkhead-host/bulkhead/host/api/event"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/picture"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/textfile"
	"github.com/bulkhead-host/bulkhead/host/turn"
)

// PicturePolicy is for a picture that is opened as a page of its own. A browser
// wraps it into a document with a style, and nothing else is let in.
const PicturePolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

type FileView struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	MediaType  string `json:"media_type"`
	Encoding   string `json:"encoding"`
	Bytes      int64  `json:"bytes"`
	Characters int    `json:"characters"`
	Lines      int    `json:"lines"`
	// Width and Height are those of a picture, in pixels.
	Width     int    `json:"width,omitempty"`
	Height    int    `json:"height,omitempty"`
	CreatedAt string `json:"created_at"`
	// Note says what reading an uploaded file took, such as an assumed encoding.
	Note string `json:"note,omitempty"`
	// Text is there when one file was asked for that is no picture.
	Text *string `json:"text,omitempty"`
}

func viewFile(f store.File) FileView {
	return FileView{ID: f.ID, Name: f.Name, MediaType: f.MediaType, Encoding: f.Encoding, Bytes: f.Bytes,
		Characters: f.Characters, Lines: f.Lines, Width: f.Width, Height: f.Height, CreatedAt: stamp(f.CreatedAt)}
}

// FileRefView is a file as the message that carries it names it.
type FileRefView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Bytes     int64  `json:"bytes"`
	// Gone tells that the file was deleted.
	Gone bool `json:"gone,omitempty"`
}

// fileFault reads the errors of files.
func fileFault(err error) error {
	var unread *textfile.Error
	var unseen *picture.Error
	switch {
	case errors.Is(err, textfile.ErrTooLarge), errors.Is(err, picture.ErrTooLarge):
		return fault.New(fault.TooLarge, err.Error())
	case errors.As(err, &unread):
		return fault.New(fault.NotText, unread.Message)
	case errors.As(err, &unseen):
		return fault.New(fault.DamagedPicture, unseen.Message)
	case errors.Is(err, store.ErrNotFound):
		return fault.Of(fault.UnknownFile)
	case errors.Is(err, store.ErrFull):
		return fault.New(fault.Full,
			fmt.Sprintf("Your files have %d MiB together, which is all that is kept. Delete conversations with large "+
				"files or "+
				"pictures first.", store.MaxFilesBytes>>20))
	}
	return err
}

// List lists a person's attached files, the newest first.
func (s files) List(c *fiber.Ctx) error {
	list, err := s.cfg.Records.Files.List(s.cfg.Context, caller.Of(c).Principal)
	if err = s.readable(err); err != nil {
		return err
	}
	views := make([]FileView, 0, len(list))
	for _, f := range list {
		views = append(views, viewFile(f))
	}
	return c.JSON(fiber.Map{"files": views})
}

// Post takes files to be attached. One that cannot be taken does not keep
// the others out.
func (s files) Post(c *fiber.Ctx) error {
	form, err := c.MultipartForm()
	if err != nil {
		return fault.New(fault.Invalid, "The body must be multipart/form-data with the files in fields named file.")
	}
	uploads := form.File["file"]
	if len(uploads) == 0 {
		return fault.New(fault.Invalid, "The form has no field named file.")
	}
	who := caller.Of(c)
	taken, failed := []FileView{}, []FailedUpload{}
	for _, upload := range uploads {
		f, note, err := s.takeFile(who, upload)
		if err != nil {
			failed = append(failed, FailedUpload{fileName(upload), s.tell.Of(err, caller.RequestOf(c))})
			continue
		}
		view := viewFile(f)
		view.Note = note
		taken = append(taken, view)
	}
	return c.JSON(fiber.Map{"files": taken, "failed": failed})
}

// takeFile keeps a file. The note says what reading it took, "" for nothing.
func (s files) takeFile(who caller.Caller, upload *multipart.FileHeader) (kept store.File, note string, err error) {
	f, err := upload.Open()
	if err != nil {
		return store.File{}, "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return store.File{}, "", err
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	if picture.Is(data) {
		kept, err := s.takePicture(who, textfile.CleanName(upload.Filename), digest, data)
		return kept, "", fileFault(err)
	}
	text, err := textfile.Read(upload.Filename, upload.Header.Get(fiber.HeaderContentType), data)
	if err != nil {
		return store.File{}, "", fileFault(err)
	}
	kept, err = s.cfg.Records.Files.Add(s.cfg.Context, who.Principal,
		store.File{Name: text.Name, MediaType: text.MediaType, Encoding: text.Encoding,
			SHA256: digest, Bytes: int64(len(data))}, []byte(text.Text))
	return kept, text.Note, fileFault(err)
}

// takePicture keeps what is a picture by its bytes, whatever its name says.
func (s files) takePicture(who caller.Caller, name, digest string, data []byte) (store.File, error) {
	seen, err := picture.Read(name, data)
	if err != nil {
		return store.File{}, err
	}
	return s.cfg.Records.Files.AddPicture(s.cfg.Context, who.Principal,
		store.File{Name: name, MediaType: seen.MediaType, SHA256: digest,
			Width: seen.Width, Height: seen.Height}, data)
}

// Get returns a file, with its text unless it is a picture.
func (s files) Get(c *fiber.Ctx) error {
	who, id := caller.Of(c), c.Params("id")
	f, err := s.cfg.Records.Files.Get(s.cfg.Context, who.Principal, id)
	if err != nil {
		return fileFault(err)
	}
	if f.Picture() {
		return c.JSON(viewFile(f))
	}
	data, err := s.cfg.Records.Contents.Text(s.cfg.Context, who.Principal, id)
	if err != nil {
		return fileFault(err)
	}
	view, text := viewFile(f), string(data)
	view.Text = &text
	return c.JSON(view)
}

// Picture returns the bytes of a picture to be shown. Its type is one of those
// that were told from the bytes, and a browser that opens it as a page of its own
// may do nothing with it but show it.
func (s files) Picture(c *fiber.Ctx) error {
	who, id := caller.Of(c), c.Params("id")
	f, err := s.cfg.Records.Files.Get(s.cfg.Context, who.Principal, id)
	if err != nil {
		return fileFault(err)
	}
	if !slices.Contains(picture.MediaTypes(), f.MediaType) {
		return fault.New(fault.UnknownFile, "This file is no picture.")
	}
	data, err := s.cfg.Records.Contents.Picture(s.cfg.Context, who.Principal, id)
	if err != nil {
		return fileFault(err)
	}
	c.Set(fiber.HeaderContentType, f.MediaType)
	c.Set(fiber.HeaderContentSecurityPolicy, PicturePolicy)
	return c.Send(data)
}

// Delete deletes a file for good; messages keep its name.
func (s files) Delete(c *fiber.Ctx) error {
	who, id := caller.Of(c), c.Params("id")
	f, err := s.cfg.Records.Files.Get(s.cfg.Context, who.Principal, id)
	if err == nil {
		err = s.cfg.Records.Files.Delete(s.cfg.Context, who.Principal, id)
	}
	if err != nil {
		return fileFault(err)
	}
	for _, session := range f.Sessions {
		s.ask.Publish(who, event.TopicSession, session, "updated")
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// viewRefs are the files of a message. here are the ids of those that are there.
func viewRefs(refs []store.FileRef, here map[string]bool) []FileRefView {
	var views []FileRefView
	for _, r := range refs {
		views = append(views, FileRefView{r.ID, r.Name, r.MediaType, r.Bytes, !here[r.ID]})
	}
	return views
}

// filesHere tells which of the files that the messages carry are there.
func (s files) filesHere(who caller.Caller, messages []turn.Message) map[string]bool {
	here := map[string]bool{}
	for _, m := range messages {
		for _, r := range m.Files {
			if _, seen := here[r.ID]; !seen {
				_, err := s.cfg.Records.Files.Get(s.cfg.Context, who.Principal, r.ID)
				here[r.ID] = !errors.Is(err, store.ErrNotFound)
			}
		}
	}
	return here
}
