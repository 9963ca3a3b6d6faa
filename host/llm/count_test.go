package llm_test

import (
	"slices"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

func TestTokensAreOnTheHighSideOfWhatModelsCount(t *testing.T) {
	for _, tc := range []struct {
		what, text string
		least      int
	}{
		// As models count that have one piece for each digit.
		{"digits", "3.14159265358979", 15},
		{"a table of numbers", "12;34;56;78\n90;12;34;56\n", 18},
		// As models count that were made mostly of English: pieces of bytes.
		{"emoji", "👩‍👩‍👧‍👦", 15},
		{"Devanagari", "नमस्ते", 8},
		// As models count in general.
		{"prose", "The lamp is lit before high water.", 8},
		{"Chinese", "灯塔在涨潮之前点亮", 9},
		{"base64", "dGhlIGtlZXBlciB3aG8gZ3Vlc3NlcyBrZWVwcyBub3RoaW5n", 24},
		{"a name", "getElementsByTagName", 5},
	} {
		if got := llm.Tokens(tc.text); got < tc.least || got > 3*tc.least {
			t.Errorf("%s: %d tokens, want %d or somewhat more", tc.what, got, tc.least)
		}
	}
}

// TestTokensAreTheSameFromBothEnds: a text that grows at either end takes what it takes
// as a whole, and never less than before.
func TestTokensAreTheSameFromBothEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.SliceOf(rapid.SampledFrom([]rune("aZ0 .\n漢é👩नx9Q"))).Draw(t, "runes")
		var after, before llm.Count
		grown := 0
		for i, r := range runes {
			after.After(r)
			if now := after.Tokens(); now < grown || now != llm.Tokens(string(runes[:i+1])) {
				t.Fatalf("%d tokens after %d, whole %d", now, grown, llm.Tokens(string(runes[:i+1])))
			} else {
				grown = now
			}
		}
		for i, r := range slices.Backward(runes) {
			if before.Before(r); before.Tokens() != llm.Tokens(string(runes[i:])) {
				t.Fatalf("%d tokens from the end, whole %d", before.Tokens(), llm.Tokens(string(runes[i:])))
			}
		}
	})
}

func FuzzTokens(f *testing.F) {
	f.Add("prose, and \xff what is none")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if got := llm.Tokens(text); got < utf8.RuneCountInString(text)/3 || got > 3*utf8.RuneCountInString(text) {
			t.Errorf("%d tokens for %d characters", got, utf8.RuneCountInString(text))
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	text := "The lamp is lit before high water, says {\"ref\": 12, \"title\": \"Tides\"}.\n"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		llm.Tokens(text)
	}
}
