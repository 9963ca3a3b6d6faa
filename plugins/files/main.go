// Command files is the built-in plugin that reads what the person attached to
// the conversation. It compiles to a Wasm module; its one tool is read_file.
//
// A file's id or name and a place in it come in, a part of its text with the ref
// to cite it by goes out. It knows the files only through the host functions of
// the capability files.
package main

import (
	"errors"
	"fmt"
	"strings"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

const description = "Reads a file that the person attached to this conversation, a part at a time. " +
	"Use it for files that do not stand whole in the conversation. Name the file by its id or its name. " +
	"offset is the character to begin at; go on with the next_offset of the result."

const (
	// defaultLimit and maxLimit are how many characters one call returns.
	defaultLimit = 12_000
	maxLimit     = 40_000
)

const example = `Example: {"file":"f_01J…","offset":0}`

func init() {
	pdk.Register(pdk.Func("read_file", "Read file", description, read))
}

func main() {}

type arguments struct {
	File   string `json:"file" doc:"The id or the name of the file."`
	Offset int    `json:"offset,omitempty" doc:"The character to begin at, from 0."`
	Limit  int    `json:"limit,omitempty" doc:"How many characters, at most 40000; 12000 if left out."`
}

// result is the part as the model reads it, in the shape of a passage.
type result struct {
	Ref     int    `json:"ref,omitempty"`
	Title   string `json:"title"`
	Section string `json:"section"`
	Source  string `json:"source"`
	Content string `json:"content"`
}

type answer struct {
	Results []result `json:"results"`
	// Total counts the file's characters; NextOffset is where the rest begins.
	Total      int    `json:"total_characters"`
	NextOffset int    `json:"next_offset,omitempty"`
	Note       string `json:"note"`
}

func read(c *pdk.Call, args arguments) (pdk.Result, error) {
	files, err := pdk.FileList()
	if err != nil {
		return pdk.Fail(sentence(err)), nil
	}
	file, ok := find(files, args.File)
	switch {
	case len(files) == 0:
		return pdk.Fail("No file is attached to this conversation. Go on without it."), nil
	case !ok:
		return pdk.Fail(fmt.Sprintf("There is no file %q here. %s %s", args.File, listed(files), example)), nil
	case picture(file):
		return pdk.Fail(fmt.Sprintf("%s is a picture (%s). It has no text to read. Answer from what you see of it; "+
			"if you see nothing, say so.", file.Name, file.MediaType)), nil
	case args.Offset < 0 || args.Limit < 0:
		return pdk.Fail("offset and limit are not negative. " + example), nil
	case args.Offset >= file.Characters && args.Offset > 0:
		return pdk.Fail(fmt.Sprintf("%s has %d characters; offset %d is beyond its end. %s", file.Name, file.Characters,
			args.Offset, example)), nil
	}
	limit := args.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	text, total, err := pdk.FileRead(file.ID, args.Offset, min(limit, maxLimit))
	if err != nil {
		return pdk.Fail(sentence(err)), nil
	}
	return present(c, file, args.Offset, text, total), nil
}

// find returns the file of an id, or the last one of a name without regard to
// case.
func find(files []pdk.AttachedFile, name string) (found pdk.AttachedFile, ok bool) {
	name = strings.TrimSpace(name)
	for _, f := range files {
		if f.ID == name {
			return f, true
		}
		if strings.EqualFold(f.Name, name) {
			found, ok = f, true
		}
	}
	return found, ok
}

func listed(files []pdk.AttachedFile) string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = fmt.Sprintf("%q (id %s, %s)", f.Name, f.ID, extent(f))
	}
	return "Attached are: " + strings.Join(names, ", ") + "."
}

// extent says how long a text is, and of a picture that it is one.
func extent(f pdk.AttachedFile) string {
	if picture(f) {
		return "a picture"
	}
	return fmt.Sprintf("%d characters", f.Characters)
}

// picture tells a picture, whose kind the host found from its bytes. An SVG is
// text, and the host keeps it as such.
func picture(f pdk.AttachedFile) bool {
	return strings.HasPrefix(f.MediaType, "image/") && f.MediaType != "image/svg+xml"
}

// present gives the part its ref and says how to go on.
func present(c *pdk.Call, file pdk.AttachedFile, offset int, text string, total int) pdk.Result {
	text, n := wholeLines(text, offset, total)
	end := offset + n
	a := answer{Total: total, Note: "This is the end of the file."}
	if end < total {
		a.NextOffset = end
		a.Note = fmt.Sprintf("The file goes on; call read_file with offset %d for the next part.", end)
	}
	a.Results = []result{{
		Ref:   c.Cite(pdk.Document{ID: file.ID, Title: file.Name, Snippet: snippet(text), Source: "file"}),
		Title: file.Name, Section: fmt.Sprintf("characters %d to %d of %d", offset, end, total), Source: "file",
		Content: text,
	}}
	return pdk.JSON(a)
}

// wholeLines cuts a part that is not the last at the end of a line where one is
// near, so that no row is torn, and returns how many characters remain.
func wholeLines(text string, offset, total int) (string, int) {
	n := len([]rune(text))
	if offset+n >= total {
		return text, n
	}
	if at := strings.LastIndexByte(text, '\n'); at > len(text)*3/4 {
		text = text[:at+1]
		n = len([]rune(text))
	}
	return text, n
}

// maxSnippet is how many characters a person sees of the part.
const maxSnippet = 240

func snippet(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxSnippet {
		return strings.TrimSpace(string(runes[:maxSnippet])) + "…"
	}
	return text
}

// sentence says to the model why the file was not read and what to do.
func sentence(err error) string {
	var e *pdk.HostError
	if !errors.As(err, &e) {
		return "The files cannot be read: " + err.Error()
	}
	switch e.Kind {
	case pdk.Denied:
		return "The files may not be read: " + e.Message +
			" Do not try again; tell the person that an operator can grant it."
	case pdk.NotFound:
		return "The file is not there any more. Go on without it."
	default:
		return "The files cannot be read: " + e.Message
	}
}
