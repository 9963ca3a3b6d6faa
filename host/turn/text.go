package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/text/line"
)

// MaxTextBytes is the largest question, in bytes of UTF-8.
const MaxTextBytes = 256 << 10

// screen lets the hook see a message. What it makes of it is held to the same rules.
func (s *Service) screen(ctx context.Context, p identity.Principal, text string) (Screened, error) {
	if s.cfg.Screen == nil {
		return Screened{Text: text}, nil
	}
	screened, err := s.cfg.Screen(ctx, p, text)
	var known *Error
	switch {
	case errors.As(err, &known):
		return Screened{}, known
	case err != nil:
		return Screened{}, s.fault(fmt.Errorf("screen a message: %w", err), CodeInternal)
	}
	return screened, checkText(screened.Text)
}

func checkText(text string) error {
	switch {
	case len(text) > MaxTextBytes:
		return &Error{Code: CodeTooLarge, Message: fmt.Sprintf(
			"The message has %d KiB; at most %d KiB can be sent. Put long material into a document.",
			(len(text)+1023)>>10, MaxTextBytes>>10)}
	case !utf8.ValidString(text):
		return invalid("The message is not valid UTF-8 text.")
	case strings.ContainsRune(text, 0):
		return invalid("The message contains a NUL character.")
	case strings.TrimSpace(text) == "":
		return invalid("The message is empty.")
	}
	return nil
}

// maxTitle bounds the title of a session, in characters as a person counts them.
const maxTitle = 60

// Title makes the title of a session from its first message: the first line that
// says something, cut at a word.
func Title(text string) string {
	for l := range strings.Lines(text) {
		if title := line.Clean(l); title != "" {
			return line.Cut(title, maxTitle)
		}
	}
	return ""
}
