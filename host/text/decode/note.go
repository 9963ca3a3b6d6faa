package decode

import (
	"fmt"
	"strings"
)

// Note says in sentences for a person what reading the text took: an encoding that was
// assumed, what could not be read, what was left out, and that nothing is there. It is
// "" where there is nothing to say.
func (t Text) Note() string {
	if strings.TrimSpace(t.Text) == "" {
		return "It is empty."
	}
	assumed := ""
	if t.Assumed {
		assumed = "Its encoding was not declared and is taken to be " + t.Encoding + "."
	}
	return strings.TrimSpace(assumed + " " + t.Loss())
}

// Loss is the part of Note that says what could not be read and what was left out.
func (t Text) Loss() string {
	var said []string
	if t.Replaced > 0 {
		said = append(said, fmt.Sprintf("%s could not be read; \uFFFD stands there.", count(t.Replaced, "byte")))
	}
	if t.Dropped > 0 {
		what := count(t.Dropped, "control character")
		said = append(said, fmt.Sprintf("%s, such as NUL, %s left out.", what, was(t.Dropped)))
	}
	return strings.Join(said, " ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
