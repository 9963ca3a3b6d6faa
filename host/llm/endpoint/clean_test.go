package endpoint

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// cleaned is what Clean makes of a body that comes whole or byte by byte.
func cleaned(t testing.TB, body string, slow bool) string {
	var in io.Reader = strings.NewReader(body)
	if slow {
		in = iotest.OneByteReader(in)
	}
	r := &http.Response{Body: io.NopCloser(in)}
	Clean(r)
	out, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestCleanEndsWhatWasLeftOpenAndNothingThatWasCut(t *testing.T) {
	for in, want := range map[string]string{
		"data: {}\n\n":                 "data: {}\n\n",
		"data: {}\r\rdata: []\r\r":     "data: {}\n\ndata: []\n\n",
		"data: {}":                     "data: {}\n\n",
		"data: [DONE]":                 "data: [DONE]\n\n",
		"data: {\"a\":":                "",
		"data: {}\n\ndata: {\"a\":":    "data: {}\n\n",
		"data: {\ndata: }\n":           "data: {\ndata: }\n\n",
		"error: no\n":                  "data: {\"error\":\"no\"}\n\n",
		"event: x\nerror: {\"a\":1}\n": "event: x\n\ndata: {\"error\":{\"a\":1}}\n\n",
		"{\"error\":1}\n":              "data: {\"error\":1}\n\n",
		"\uFEFF: hi\n":                 ": hi\n\n",
		"":                             "",
	} {
		for _, slow := range []bool{false, true} {
			if got := cleaned(t, in, slow); got != want {
				t.Errorf("%q, slow %v: %q, want %q", in, slow, got, want)
			}
		}
	}
}

// FuzzClean: the pieces in which a body comes make no difference, and a clean one stays.
func FuzzClean(f *testing.F) {
	f.Add("data: {}\r\n\r\nerror: x\n{\"a\":1}\ndata: [DONE]")
	f.Fuzz(func(t *testing.T, body string) {
		whole := cleaned(t, body, false)
		if slow := cleaned(t, body, true); slow != whole {
			t.Errorf("%q became %q whole and %q byte by byte", body, whole, slow)
		}
		if again := cleaned(t, whole, false); again != whole && strings.HasSuffix(whole, "\n\n") && !strings.HasPrefix(whole, "\uFEFF") {
			t.Errorf("%q became %q and that %q", body, whole, again)
		}
	})
}

// FuzzSurrogates: a text that is cut anywhere is the same text joined.
func FuzzSurrogates(f *testing.F) {
	f.Add("Hi 🚀 \\ud83d \"x\"", uint(4))
	f.Fuzz(func(t *testing.T, text string, cut uint) {
		quoted, err := json.Marshal(text)
		if err != nil || !json.Valid(quoted) {
			return
		}
		escaped := asciiOnly(quoted[1 : len(quoted)-1])
		at := min(int(cut%uint(len(escaped)+1)), len(escaped))
		for at > 0 && !cuttable(escaped, at) {
			at--
		}
		var s Surrogates
		var got string
		for _, part := range [][]byte{escaped[:at], escaped[at:]} {
			var event struct{ Content string }
			data := s.Join([]byte(`{"content":"` + string(part) + `"}`))
			if err := json.Unmarshal(data, &event); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			got += event.Content
		}
		var want string
		_ = json.Unmarshal(quoted, &want)
		if got != want {
			t.Errorf("%q cut at %d: %q", want, at, got)
		}
	})
}

// asciiOnly escapes what is no ASCII, in halves where one escape cannot hold it.
func asciiOnly(quoted []byte) []byte {
	var out bytes.Buffer
	for _, r := range string(quoted) {
		switch {
		case r < 0x80:
			out.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			for _, half := range []rune{0xD800 + r>>10, 0xDC00 + r&0x3FF} {
				out.WriteString(`\u` + hex4(half))
			}
		default:
			out.WriteString(`\u` + hex4(r))
		}
	}
	return out.Bytes()
}

func hex4(r rune) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]})
}

// cuttable tells whether an escape is whole on both sides of a place.
func cuttable(text []byte, at int) bool {
	for i := 0; i < at; {
		n := 1
		if text[i] == '\\' {
			if n = 2; text[i+1] == 'u' {
				n = 6
			}
		}
		if i += n; i > at {
			return false
		}
	}
	return true
}
