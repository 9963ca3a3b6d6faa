package llm

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// Attachment is a file that a person attached to a message, as a model gets it.
type Attachment struct {
	// ID names the file to a tool that reads files.
	ID string
	// Ref is the number to cite the file by, 0 for none.
	Ref int
	// Name and MediaType are the file's own; Bytes is the size of the source,
	// Characters and Lines count its text.
	Name, MediaType   string
	Bytes             int64
	Characters, Lines int
	// Text is the whole text, or its beginning where Whole is false; "" where
	// there is none.
	Text  string
	Whole bool
	// Image is the file itself where it is an image that models take (PNG, JPEG,
	// WebP, GIF), nil for other files and for an image that is not to be sent. It is
	// shared by all that read the message and is not changed.
	Image []byte
	// Width and Height are those of an image in pixels, 0 where unknown.
	Width, Height int
	// Gone tells that the file was deleted since.
	Gone bool
	// seen is the place of an image that is sent beside the text, from 1.
	seen int
}

// imageTypes are the media types of images that models see.
var imageTypes = []string{"image/png", "image/jpeg", "image/webp", "image/gif"}

// DataURI is the image as a data: URI.
func (a Attachment) DataURI() string {
	return "data:" + a.MediaType + ";base64," + base64.StdEncoding.EncodeToString(a.Image)
}

// IsImage tells whether it is an image, sent or not. It has no text then.
func (a Attachment) IsImage() bool { return slices.Contains(imageTypes, a.MediaType) }

// visible tells whether a model with eyes can see it.
func (a Attachment) visible() bool {
	return !a.Gone && len(a.Image) > 0 && a.IsImage()
}

// HasImages tells whether the message carries an image that can be sent.
func (m Message) HasImages() bool { return slices.ContainsFunc(m.Attachments, Attachment.visible) }

// ImagesUpTo returns the message without the images of more than so many bytes, for
// a provider that refuses larger ones. A text stands for each that is left out.
func (m Message) ImagesUpTo(bytes int) Message {
	m.Attachments = slices.Clone(m.Attachments)
	for i, a := range m.Attachments {
		if len(a.Image) > bytes {
			m.Attachments[i].Image = nil
		}
	}
	return m
}

// Seen is Content for a model that sees images: its text says of each that it is
// there, and images are in the same order.
func (m Message) Seen() (text string, images []Attachment) {
	seen := m
	seen.Attachments = slices.Clone(m.Attachments)
	for i, a := range seen.Attachments {
		if a.visible() {
			images = append(images, a)
			seen.Attachments[i].seen = len(images)
		}
	}
	return seen.Content(), images
}

// Content is the text of the message as a model without a place for files of its
// own reads it: the message, then each attachment between lines that begin with
// === and hold the file's id, which no text can have known.
func (m Message) Content() string {
	if len(m.Attachments) == 0 {
		return m.Text
	}
	var b strings.Builder
	b.WriteString(m.Text)
	for _, a := range m.Attachments {
		b.WriteString("\n\n")
		a.write(&b)
	}
	return b.String()
}

func (a Attachment) write(b *strings.Builder) {
	if a.Gone {
		fmt.Fprintf(b, "=== attached file %q (%s) was deleted ===", a.Name, a.ID)
		return
	}
	fmt.Fprintf(b, "=== attached file %q, id %s", a.Name, a.ID)
	if a.Ref > 0 {
		fmt.Fprintf(b, ", ref %d", a.Ref)
	}
	if a.MediaType != "" {
		b.WriteString(", " + a.MediaType)
	}
	if a.Width > 0 && a.Height > 0 {
		fmt.Fprintf(b, ", %d × %d pixels", a.Width, a.Height)
	}
	switch {
	case a.seen > 0:
		fmt.Fprintf(b, ", %d bytes, image %d of this message ===", a.Bytes, a.seen)
		return
	case a.visible():
		fmt.Fprintf(b, ", %d bytes, an image that you cannot see ===", a.Bytes)
		return
	case a.IsImage():
		fmt.Fprintf(b, ", %d bytes, an image that is not sent to you: it is too large, or later ones take its place ===", a.Bytes)
		return
	}
	fmt.Fprintf(b, ", %d bytes, %d characters, %d lines", a.Bytes, a.Characters, a.Lines)
	if a.Whole {
		fmt.Fprintf(b, ", whole ===\n%s\n=== end of file %s ===", strings.TrimSuffix(a.Text, "\n"), a.ID)
		return
	}
	b.WriteString(", too long to stand here; read it by its id with a tool that reads files. It begins ===\n")
	fmt.Fprintf(b, "%s\n=== end of the beginning of file %s ===", strings.TrimSuffix(a.Text, "\n"), a.ID)
}
