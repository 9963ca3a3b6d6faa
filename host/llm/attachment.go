package llm

import (
	"fmt"
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
	// Gone tells that the file was deleted since.
	Gone bool
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
	fmt.Fprintf(b, ", %d bytes, %d characters, %d lines", a.Bytes, a.Characters, a.Lines)
	if a.Whole {
		fmt.Fprintf(b, ", whole ===\n%s\n=== end of file %s ===", strings.TrimSuffix(a.Text, "\n"), a.ID)
		return
	}
	b.WriteString(", too long to stand here; read it by its id with a tool that reads files. It begins ===\n")
	fmt.Fprintf(b, "%s\n=== end of the beginning of file %s ===", strings.TrimSuffix(a.Text, "\n"), a.ID)
}
