package fault

import (
	"encoding/json"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// jargon are words that a person who writes no Go cannot place.
var jargon = regexp.MustCompile(`(?i)\b(nil|null pointer|goroutine|panic|struct|mutex|EOF|context|deadline|unmarshal|stdin|errno)\b|%[a-z]|\.go\b`)

func TestEachCodeHasAStatusOfAFaultAndASentence(t *testing.T) {
	for code, info := range Codes {
		if info.Status < 400 || info.Status > 599 {
			t.Errorf("%s has status %d", code, info.Status)
		}
		if info.Close != 0 && (info.Close < 1000 || info.Close > 1011) {
			t.Errorf("%s closes with %d", code, info.Close)
		}
		first := info.Message[:1]
		if first != strings.ToUpper(first) || !strings.HasSuffix(info.Message, ".") ||
			strings.HasSuffix(info.Message, "..") {
			t.Errorf("%s: %q is no sentence that ends in a full stop", code, info.Message)
		}
		if found := jargon.FindString(info.Message); found != "" {
			t.Errorf("%s: %q says %q", code, info.Message, found)
		}
		if strings.HasPrefix(string(code), "unknown_") && info.Status != NotFound.Status() {
			t.Errorf("%s has status %d, not that of %s", code, info.Status, NotFound)
		}
	}
}

// TestPacketsHaveTheirOwnCodes holds the two lists apart. A word of both means the
// same and is retried alike; its sentence differs, since a run's message is saved.
func TestPacketsHaveTheirOwnCodes(t *testing.T) {
	both := map[Code]bool{Internal: true, Refused: true}
	for code, info := range packet.Codes {
		mine, shared := Codes[Code(code)]
		if shared != both[Code(code)] {
			t.Errorf("%s stands in both lists: %v", code, shared)
		}
		if shared && mine.Retryable != info.Retryable {
			t.Errorf("%s is retried in one list only", code)
		}
	}
}

func TestAClientGetsNoCause(t *testing.T) {
	e := At(Busy, "name", "").Because(fs.ErrNotExist)
	data, err := json.Marshal(map[string]*Error{"error": e})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"error":{"code":"busy","message":"An answer is being written in this conversation. Stop it or wait.","field":"name","retryable":true}}`
	if string(data) != want {
		t.Errorf("%s", data)
	}
	if !errors.Is(e, fs.ErrNotExist) || !strings.Contains(e.Error(), fs.ErrNotExist.Error()) {
		t.Errorf("the log is not told of the cause: %v", e)
	}
	if got, _ := json.Marshal(Error{Code: Closing}); !strings.Contains(string(got), Closing.Info().Message) {
		t.Errorf("an error without a sentence is sent as %s", got)
	}
}

func TestACodeOfNoListIsAFaultOfTheHost(t *testing.T) {
	if got := Code("made_up").Status(); got != Internal.Status() {
		t.Errorf("status %d", got)
	}
}

func TestWhatALibraryRefusesKeepsItsStatus(t *testing.T) {
	for status, want := range map[int]Code{400: Invalid, 404: NotFound, 405: MethodNotAllowed, 408: TooSlow,
		413: TooLarge, 426: UpgradeRequired, 431: Invalid, 502: Internal} {
		if got := ByStatus(status); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
}
