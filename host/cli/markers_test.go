package cli

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMarkersAreRewrittenWhateverTheSplit(t *testing.T) {
	form := regexp.MustCompile(`\[\[([0-9]{1,6})\]\]`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("[[[]]]0127x ")), 0, 40, -1).Draw(t, "text")
		want := form.ReplaceAllStringFunc(text, func(m string) string {
			n, _ := strconv.Atoi(strings.Trim(m, "[]")) // the form has digits
			if n == 1 || n == 2 {
				return "[" + strconv.Itoa(n) + "]"
			}
			return m
		})
		var m markers
		m.announce(1)
		m.announce(2)
		var got strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			got.WriteString(m.write(rest[:n]))
			rest = rest[n:]
		}
		got.WriteString(m.end())
		if got.String() != want {
			t.Fatalf("%q became %q, want %q", text, got.String(), want)
		}
	})
}

func TestBaseURLIsWhatABrowserHereOpens(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8420": "http://127.0.0.1:8420", "0.0.0.0:80": "http://127.0.0.1:80", ":80": "http://127.0.0.1:80",
		"[::]:80": "http://127.0.0.1:80", "[::1]:80": "http://[::1]:80",
		"chat.example.org:80": "http://chat.example.org:80",
	} {
		if got := baseURL(listen); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
	for listen, want := range map[string]bool{"127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true, ":1": false,
		"0.0.0.0:1": false, "10.0.0.1:1": false, "x": false} {
		if got := onLoopback(listen); got != want {
			t.Errorf("%s on loopback: %v", listen, got)
		}
	}
}

func TestDataFolderOfTheEnvironment(t *testing.T) {
	env := func(pairs map[string]string) func(string) string { return func(k string) string { return pairs[k] } }
	if got, err := DefaultDataDir(env(map[string]string{"BULKHEAD_DATA": "/x", "HOME": "/h"})); err != nil ||
		got != "/x" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := DefaultDataDir(env(nil)); err == nil {
		t.Error("a data folder without any place")
	}
}
