package llm

import "strings"

// maxCallName is how long the name of a function may be.
const maxCallName = 64

// CallName returns the name of a call as providers take it in a history: at most 64
// letters, digits, _ and -. Models make names up, and a history with one that is not of
// this form is refused whole, with every later request.
func CallName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), maxCallName)]
}
