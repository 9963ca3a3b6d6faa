package turn

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// maxLoadedBytes bounds the texts of files that one run holds whole; of files
// beyond it the beginning is loaded.
const maxLoadedBytes = 16 << 20

// beginningBytes is how much of a file is loaded that cannot stand whole.
const beginningBytes = 16 << 10

// maxPictures and maxPictureBytes bound the pictures that one question carries, with
// those of the messages before it. In base64 the bytes stay below the 32 MB that
// the narrowest provider takes.
const (
	maxPictures     = 20
	maxPictureBytes = 16 << 20
)

// snippetRunes bounds what a citation shows of a file.
const snippetRunes = 240

// file is an attached file with its text, or the beginning of it, or with its
// picture; picture is nil also where it is one too many.
type file struct {
	store.File
	text    string
	picture []byte
}

// checkFiles says which of the files is not there, before anything is stored.
func (s *Service) checkFiles(ctx context.Context, p identity.Principal, ids []string) error {
	if len(ids) > store.MaxMessageFiles {
		return invalid("A message carries at most %d files; this one has %d.", store.MaxMessageFiles, len(ids))
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return invalid("The file %s is attached twice.", id)
		}
		_, err := s.cfg.Records.Files.Get(ctx, p, id)
		if errors.Is(err, store.ErrNotFound) {
			return &Error{Code: CodeUnknownFile, Message: "An attached file is not here any more. Attach it again.",
				Err: err}
		}
		if err != nil {
			return s.fault(err, CodeInternal)
		}
	}
	return nil
}

// loadFiles loads the files of a branch, those of the last messages first: what a
// person asks about is most often what they showed last.
func (s *Service) loadFiles(ctx context.Context, p identity.Principal, branch []Message) (map[string]file, error) {
	files := map[string]file{}
	left := int64(maxLoadedBytes)
	pictures, pictureBytes := maxPictures, int64(maxPictureBytes)
	for _, m := range slices.Backward(branch) {
		for _, ref := range m.Files {
			if _, known := files[ref.ID]; known {
				continue
			}
			record, err := s.cfg.Records.Files.Get(ctx, p, ref.ID)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if record.Picture() {
				f := file{File: record}
				if pictures > 0 && record.Bytes <= pictureBytes {
					f.picture, err = s.cfg.Records.Files.Picture(ctx, p, ref.ID)
					pictures, pictureBytes = pictures-1, pictureBytes-record.Bytes
				}
				if errors.Is(err, store.ErrNotFound) {
					continue // deleted meanwhile
				}
				if err != nil {
					return nil, err
				}
				files[ref.ID] = f
				continue
			}
			text, err := s.cfg.Records.Files.Text(ctx, p, ref.ID)
			if errors.Is(err, store.ErrNotFound) {
				continue // deleted meanwhile
			}
			if err != nil {
				return nil, err
			}
			if left -= int64(len(text)); left < 0 && len(text) > beginningBytes {
				text = text[:beginningBytes]
			}
			files[ref.ID] = file{File: record, text: strings.ToValidUTF8(string(text), "")}
		}
	}
	return files, nil
}

// attach writes the files of a message for the model and gives each that is new
// on the path a ref. The refs follow from the path alone, so that they are the
// same whenever it is read: a ref is used up also when the file was deleted.
func (p *path) attach(refs []store.FileRef, files map[string]file) []llm.Attachment {
	var out []llm.Attachment
	for _, r := range refs {
		number := p.refOf(r.ID)
		f, there := files[r.ID]
		if number == 0 {
			p.highest++
			number = p.highest
			p.documents = append(p.documents, packet.Document{ID: r.ID, Ref: number, Title: r.Name,
				Snippet: snippet(f.text), Source: "file"})
		}
		if !there {
			out = append(out, llm.Attachment{ID: r.ID, Name: r.Name, Gone: true})
			continue
		}
		p.attached = true
		out = append(out, llm.Attachment{ID: f.ID, Ref: number, Name: f.Name, MediaType: f.MediaType, Bytes: f.Bytes,
			Characters: f.Characters, Lines: f.Lines, Text: f.text,
			Image: f.picture, Width: f.Width, Height: f.Height})
	}
	return out
}

func (p *path) refOf(id string) int {
	for _, d := range p.documents {
		if d.ID == id {
			return d.Ref
		}
	}
	return 0
}

// snippet is the beginning of a text on one line.
func snippet(text string) string {
	text = strings.Join(strings.Fields(text[:min(len(text), 4*snippetRunes)]), " ")
	runes := []rune(strings.ToValidUTF8(text, ""))
	if len(runes) > snippetRunes {
		return strings.TrimSpace(string(runes[:snippetRunes])) + "…"
	}
	return string(runes)
}

// onlyReadsFiles tells of a tool that has nothing to do without files.
func onlyReadsFiles(spec tool.Spec) bool {
	return slices.Contains(spec.Reaches, tool.ReachesFiles) && !slices.Contains(spec.Labels, tool.LabelWrites) &&
		!slices.ContainsFunc(spec.Reaches, func(c string) bool {
			return c != tool.ReachesFiles && c != "context" &&
				c != "emit"
		})
}
