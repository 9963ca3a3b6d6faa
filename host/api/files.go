package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime/multipart"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/textfile"
)

type fileView struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	MediaType  string `json:"media_type"`
	Encoding   string `json:"encoding"`
	Bytes      int64  `json:"bytes"`
	Characters int    `json:"characters"`
	Lines      int    `json:"lines"`
	CreatedAt  string `json:"created_at"`
	// Text is there when one file was asked for.
	Text *string `json:"text,omitempty"`
}

func viewFile(f store.File) fileView {
	return fileView{ID: f.ID, Name: f.Name, MediaType: f.MediaType, Encoding: f.Encoding, Bytes: f.Bytes,
		Characters: f.Characters, Lines: f.Lines, CreatedAt: stamp(f.CreatedAt)}
}

// fileRefView is a file as the message that carries it names it.
type fileRefView struct {
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
	switch {
	case errors.Is(err, textfile.ErrTooLarge):
		return fault(codeTooLarge, err.Error())
	case errors.As(err, &unread):
		return fault("not_text", unread.Message)
	case errors.Is(err, store.ErrNotFound):
		return fault("unknown_file", "There is no such file. It may have been deleted.")
	case errors.Is(err, store.ErrFull):
		return fault(codeFull, sprintf("Your files have %d MiB together, which is all that is kept. Delete conversations with large files first.", store.MaxFilesBytes>>20))
	}
	return err
}

// listFiles lists a person's attached files, the newest first.
func (s *Server) listFiles(c *fiber.Ctx) error {
	list, err := s.cfg.Store.Files(s.ctx, whoOf(c).Principal)
	if err = s.readable(err); err != nil {
		return err
	}
	views := make([]fileView, 0, len(list))
	for _, f := range list {
		views = append(views, viewFile(f))
	}
	return c.JSON(fiber.Map{"files": views})
}

// postFiles takes files to be attached. One that cannot be taken does not keep
// the others out.
func (s *Server) postFiles(c *fiber.Ctx) error {
	form, err := c.MultipartForm()
	if err != nil {
		return invalid("The body must be multipart/form-data with the files in fields named file.")
	}
	uploads := form.File["file"]
	if len(uploads) == 0 {
		return invalid("The form has no field named file.")
	}
	who := whoOf(c)
	taken, failed := []fileView{}, []failedUpload{}
	for _, upload := range uploads {
		f, err := s.takeFile(who, upload)
		if err != nil {
			failed = append(failed, failedUpload{fileName(upload), s.faultOf(err, requestOf(c))})
			continue
		}
		taken = append(taken, viewFile(f))
	}
	return c.JSON(fiber.Map{"files": taken, "failed": failed})
}

func (s *Server) takeFile(who caller, upload *multipart.FileHeader) (store.File, error) {
	f, err := upload.Open()
	if err != nil {
		return store.File{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return store.File{}, err
	}
	text, err := textfile.Read(upload.Filename, upload.Header.Get(fiber.HeaderContentType), data)
	if err != nil {
		return store.File{}, fileFault(err)
	}
	sum := sha256.Sum256(data)
	kept, err := s.cfg.Store.AddFile(s.ctx, who.Principal, store.File{Name: text.Name, MediaType: text.MediaType, Encoding: text.Encoding,
		SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data))}, []byte(text.Text))
	return kept, fileFault(err)
}

// getFile returns a file with its text.
func (s *Server) getFile(c *fiber.Ctx) error {
	who, id := whoOf(c), c.Params("id")
	f, err := s.cfg.Store.File(s.ctx, who.Principal, id)
	if err != nil {
		return fileFault(err)
	}
	data, err := s.cfg.Store.FileText(s.ctx, who.Principal, id)
	if err != nil {
		return fileFault(err)
	}
	view, text := viewFile(f), string(data)
	view.Text = &text
	return c.JSON(view)
}

// deleteFile deletes a file for good; messages keep its name.
func (s *Server) deleteFile(c *fiber.Ctx) error {
	who, id := whoOf(c), c.Params("id")
	f, err := s.cfg.Store.File(s.ctx, who.Principal, id)
	if err == nil {
		err = s.cfg.Store.DeleteFile(s.ctx, who.Principal, id)
	}
	if err != nil {
		return fileFault(err)
	}
	for _, session := range f.Sessions {
		s.publish(who, "session", session, "updated")
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// viewRefs are the files of a message. here are the ids of those that are there.
func viewRefs(refs []store.FileRef, here map[string]bool) []fileRefView {
	var views []fileRefView
	for _, r := range refs {
		views = append(views, fileRefView{r.ID, r.Name, r.MediaType, r.Bytes, !here[r.ID]})
	}
	return views
}

// filesHere tells which of the files that the messages carry are there.
func (s *Server) filesHere(who caller, messages []store.Message) map[string]bool {
	here := map[string]bool{}
	for _, m := range messages {
		for _, r := range m.Files {
			if _, seen := here[r.ID]; !seen {
				_, err := s.cfg.Store.File(s.ctx, who.Principal, r.ID)
				here[r.ID] = !errors.Is(err, store.ErrNotFound)
			}
		}
	}
	return here
}
