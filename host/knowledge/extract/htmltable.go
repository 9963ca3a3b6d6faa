package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// table writes a table of data in Markdown's form. One that only lays out the
// page (it has a single column, or holds blocks that a cell cannot) is written
// as its content.
func (w *htmlWriter) table(n *html.Node) {
	rows := tableRows(n)
	columns := 0
	for _, r := range rows {
		columns = max(columns, len(r))
	}
	if columns < 2 || columns > 64 || layout(n) {
		w.blocks(n)
		w.endBlock()
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Caption {
			w.blocks(c)
			w.endBlock()
		}
	}
	lines := make([]string, 0, len(rows)+1)
	for i, r := range rows {
		lines = append(lines, "| "+strings.Join(r, " | ")+" |")
		if i == 0 {
			for len(r) < columns {
				r = append(r, "")
			}
			lines[0] = "| " + strings.Join(r, " | ") + " |"
			lines = append(lines, "|"+strings.Repeat(" --- |", columns))
		}
	}
	w.emit(lines...)
}

func tableRows(n *html.Node) [][]string {
	var rows [][]string
	for d := range n.Descendants() {
		if d.DataAtom != atom.Tr {
			continue
		}
		var row []string
		for c := d.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
				row = append(row, strings.ReplaceAll(cellText(c), "|", `\|`))
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

func cellText(n *html.Node) string {
	w := htmlWriter{}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && blockLevel[c.DataAtom] {
			w.inline(" " + textOf(c) + " ")
			continue
		}
		w.node(c)
	}
	return strings.Join(strings.Fields(w.out.String()+w.line.String()), " ")
}

// layout reports whether a table holds what a cell of Markdown cannot.
func layout(n *html.Node) bool {
	for d := range n.Descendants() {
		switch d.DataAtom {
		case atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Pre, atom.Blockquote, atom.Article,
			atom.Section:
			return true
		}
	}
	return false
}
