package llm

import (
	"bufio"
	"strings"
)

// RememberedHeading begins the part of a system message that says what is
// remembered about the person: a list follows, one item each, to the next empty
// line.
const RememberedHeading = "What you remember about the person, the newest first:"

// Remembered returns what a system message says is remembered about the person,
// in its order.
func Remembered(system string) []string {
	_, rest, found := strings.Cut(system, RememberedHeading+"\n")
	if !found {
		return nil
	}
	var out []string
	lines := bufio.NewScanner(strings.NewReader(rest))
	lines.Buffer(nil, len(rest)+1)
	for lines.Scan() {
		text, item := strings.CutPrefix(lines.Text(), "- ")
		if !item {
			break
		}
		out = append(out, text)
	}
	return out
}
