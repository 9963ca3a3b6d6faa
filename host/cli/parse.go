package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// Parsing says how parse reads its input.
type Parsing struct {
	// ToolsFile is a JSON file with an array of tools, "" for none.
	ToolsFile string
	// Chunk is the size of the pieces in bytes, 0 for the whole text at once.
	Chunk int
	// NDJSON reads one JSON object a line and writes one a line.
	NDJSON bool
	// ReasoningOpen and ToolChoice (auto, required, none) hold for each text that
	// does not say otherwise.
	ReasoningOpen bool
	ToolChoice    string
}

// maxLine bounds a line of NDJSON.
const maxLine = 64 << 20

// parsed is what parse writes of a text.
type parsed struct {
	ID        json.RawMessage `json:"id,omitempty"`
	Content   string          `json:"content"`
	Reasoning string          `json:"reasoning"`
	Calls     []parsedCall    `json:"calls"`
}

type parsedCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Parse runs the fallback parser on in.
func Parse(o Options, in io.Reader, how Parsing) error {
	options, err := how.options()
	if err != nil {
		return err
	}
	if how.NDJSON {
		return how.lines(o.Out, in, options)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read the text: %w", err)
	}
	return writeParsed(json.NewEncoder(o.Out), nil, salvage.ParseChunks(pieces(string(text), how.Chunk), options))
}

func (how Parsing) options() (salvage.Options, error) {
	options := salvage.Options{ReasoningOpen: how.ReasoningOpen}
	if err := choose(&options, how.ToolChoice); err != nil {
		return options, err
	}
	if how.ToolsFile == "" {
		return options, nil
	}
	data, err := os.ReadFile(how.ToolsFile)
	if err != nil {
		return options, err
	}
	options.Tools, err = salvage.ParseTools(data)
	return options, err
}

func choose(o *salvage.Options, choice string) error {
	switch strings.ToLower(choice) {
	case "", "auto":
		o.Required, o.None = false, false
	case "required":
		o.Required, o.None = true, false
	case "none":
		o.Required, o.None = false, true
	default:
		return fmt.Errorf("there is no tool choice %q; it is auto, required or none", choice)
	}
	return nil
}

// lines reads one text a line.
func (how Parsing) lines(out io.Writer, in io.Reader, defaults salvage.Options) error {
	buffered := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffered)
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<20), maxLine)
	for number := 1; lines.Scan(); number++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		id, chunks, options, err := how.line(lines.Bytes(), defaults)
		if err != nil {
			return errors.Join(fmt.Errorf("line %d: %w", number, err), buffered.Flush())
		}
		if err := writeParsed(encoder, id, salvage.ParseChunks(chunks, options)); err != nil {
			return err
		}
	}
	return errors.Join(lines.Err(), buffered.Flush())
}

// line reads one line of NDJSON. Chunks are the pieces themselves, or their sizes
// in bytes.
func (how Parsing) line(
	data []byte, o salvage.Options,
) (id json.RawMessage, chunks []string, _ salvage.Options, _ error) {
	var in struct {
		ID            json.RawMessage `json:"id"`
		Text          string          `json:"text"`
		Chunks        json.RawMessage `json:"chunks"`
		Tools         json.RawMessage `json:"tools"`
		ReasoningOpen *bool           `json:"reasoning_open"`
		ToolChoice    string          `json:"tool_choice"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, nil, o, err
	}
	if in.ReasoningOpen != nil {
		o.ReasoningOpen = *in.ReasoningOpen
	}
	if in.ToolChoice != "" {
		if err := choose(&o, in.ToolChoice); err != nil {
			return in.ID, nil, o, err
		}
	}
	if len(in.Tools) > 0 && string(in.Tools) != "null" {
		tools, err := salvage.ParseTools(in.Tools)
		if err != nil {
			return in.ID, nil, o, err
		}
		o.Tools = tools
	}
	chunks, err := chunksOf(in.Text, in.Chunks, how.Chunk)
	return in.ID, chunks, o, err
}

// chunksOf cuts text as chunks says: a list of pieces, a list of sizes, or one
// size.
func chunksOf(text string, chunks json.RawMessage, size int) ([]string, error) {
	if len(chunks) == 0 || string(chunks) == "null" {
		return pieces(text, size), nil
	}
	var given []string
	if json.Unmarshal(chunks, &given) == nil {
		return given, nil
	}
	if json.Unmarshal(chunks, &size) == nil {
		return pieces(text, size), nil
	}
	var sizes []int
	if err := json.Unmarshal(chunks, &sizes); err != nil {
		return nil, errors.New("chunks is a list of strings, a list of sizes in bytes, or one size")
	}
	for _, n := range sizes {
		n = max(0, min(n, len(text)))
		given, text = append(given, text[:n]), text[n:]
	}
	return append(given, text), nil
}

// pieces cuts text into pieces of size bytes, or leaves it whole for 0.
func pieces(text string, size int) []string {
	if size <= 0 {
		return []string{text}
	}
	out := make([]string, 0, len(text)/size+1)
	for ; len(text) > size; text = text[size:] {
		out = append(out, text[:size])
	}
	return append(out, text)
}

func writeParsed(encoder *json.Encoder, id json.RawMessage, o salvage.Outcome) error {
	out := parsed{ID: id, Content: o.Content, Reasoning: o.Reasoning, Calls: []parsedCall{}}
	for _, c := range o.Calls {
		out.Calls = append(out.Calls, parsedCall{Name: c.Name, Arguments: json.RawMessage(c.Arguments)})
	}
	encoder.SetEscapeHTML(false)
	return encoder.Encode(out)
}
