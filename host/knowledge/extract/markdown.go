package extract

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"go.yaml.in/yaml/v3"
)

// maxFrontMatter is the longest front matter that is looked for, in bytes.
const maxFrontMatter = 64 << 10

// maxNesting is how many containers (quotations, list items) one line may open.
// goldmark's work per line grows with them, so a line with more is taken as if
// it opened none.
const maxNesting = 32

// blockParser finds blocks only. Nothing here needs the inline structure, and
// without it no run of brackets or emphasis marks can cost more than its length.
func blockParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithParagraphTransformers(
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200),
		),
	)
}

// markdownTitle takes the front matter off a Markdown text and returns the
// title: the front matter's, or the first heading of level 1, or "".
func markdownTitle(src string) (title, rest string) {
	title, rest = frontMatter(src)
	if title != "" {
		return title, rest
	}
	for at := 0; at < len(rest); {
		end := at + pieceEnd(rest[at:])
		for _, m := range pieceMarks(rest[at:end]) {
			if m.kind == Heading && m.level == 1 {
				return m.title, rest
			}
		}
		at = end
	}
	return "", rest
}

// frontMatter splits off a YAML mapping between two lines of three dashes at
// the very start. What is not a mapping is no front matter and stays text.
func frontMatter(src string) (title, rest string) {
	body, ok := strings.CutPrefix(src, "---\n")
	if !ok {
		return "", src
	}
	head := body[:min(len(body), maxFrontMatter)]
	end, after := -1, 0
	for at := 0; at < len(head); {
		line, _, found := strings.Cut(head[at:], "\n")
		if trimmed := strings.TrimRight(line, " \t"); trimmed == "---" || trimmed == "..." {
			end, after = at, min(at+len(line)+1, len(body))
			break
		}
		if !found {
			break
		}
		at += len(line) + 1
	}
	if end < 0 {
		return "", src
	}
	var fields map[string]yaml.Node
	if err := yaml.Unmarshal([]byte(head[:end]), &fields); err != nil || fields == nil {
		return "", src
	}
	if node := fields["title"]; node.Kind == yaml.ScalarNode {
		title = clip(node.Value, maxTitle)
	}
	return title, strings.TrimLeft(body[after:], "\n")
}

// markdownBlocks finds the blocks piece by piece.
func markdownBlocks(src string) []Block {
	var marks []mark
	for at := 0; at < len(src); {
		end := at + pieceEnd(src[at:])
		for _, m := range pieceMarks(src[at:end]) {
			m.at += at
			marks = append(marks, m)
		}
		at = end
	}
	return partition(src, marks)
}

// pieceMarks walks goldmark's tree down to its leaf blocks. Each block starts at
// the start of its line, so markers and fences belong to it.
func pieceMarks(src string) []mark {
	source := []byte(src)
	root := blockParser().Parse(text.NewReader(flattened(source)))
	w := walker{src: src}
	w.children(root, false, true)
	return w.marks
}

type walker struct {
	src   string
	marks []mark
}

func (w *walker) children(parent ast.Node, inList, top bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.node(n, inList, top)
	}
}

func (w *walker) node(n ast.Node, inList, top bool) {
	m := mark{kind: Paragraph}
	if inList {
		m.kind = Item
	}
	switch n := n.(type) {
	case *ast.List, *ast.ListItem:
		if n.HasChildren() {
			w.children(n, true, false)
			return
		}
		m.kind = Item
	case *ast.Blockquote:
		if n.HasChildren() {
			w.children(n, inList, false)
			return
		}
	case *ast.Heading:
		if top {
			m.kind, m.level, m.title = Heading, n.Level, clip(PlainLine(rawLines(n, w.src)), maxTitle)
		}
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		m.kind = Code
	case *extast.Table:
		m.kind = Table
	}
	pos := n.Pos()
	if pos < 0 || pos > len(w.src) {
		return
	}
	m.at = strings.LastIndexByte(w.src[:pos], '\n') + 1
	// Marks must rise. A block on its predecessor's line (a list item that opens
	// with a code block, say) replaces it.
	if last := len(w.marks) - 1; last >= 0 && m.at <= w.marks[last].at {
		if m.at == w.marks[last].at {
			w.marks[last] = m
		}
		return
	}
	w.marks = append(w.marks, m)
}

func rawLines(n ast.Node, src string) string {
	var b strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		s := lines.At(i)
		b.WriteString(src[s.Start:s.Stop])
		b.WriteByte(' ')
	}
	return b.String()
}

// flattened returns source with the container markers of every line that opens
// more than maxNesting of them overwritten by a letter, byte for byte, so that
// offsets stay. Usually it is source itself.
func flattened(source []byte) []byte {
	out := source
	for at := 0; at < len(source); {
		end := at
		for end < len(source) && source[end] != '\n' {
			end++
		}
		if n := markersEnd(source[at:end]); n > 0 {
			if &out[0] == &source[0] {
				out = append([]byte(nil), source...)
			}
			for i := at; i < at+n; i++ {
				out[i] = 'x'
			}
		}
		at = end + 1
	}
	return out
}

// markersEnd returns the length of the line's prefix of container markers if
// they are more than maxNesting, else 0.
func markersEnd(line []byte) int {
	count, i := 0, 0
	for ; i < len(line); i++ {
		switch c := line[i]; {
		case c == '>' || c == '-' || c == '*' || c == '+':
			count++
		case c == '.' || c == ')':
			count++
		case c == ' ' || c == '\t' || c >= '0' && c <= '9':
		default:
			if count > maxNesting {
				return i
			}
			return 0
		}
	}
	// A line of markers only: a rule or an underline has one kind and no spaces
	// between; it opens nothing.
	if count > maxNesting && strings.ContainsAny(string(line), "> \t") {
		return i
	}
	return 0
}
