package endpoint

import "strings"

// blindWords say that a model takes no picture at all, faultWords that something is
// wrong with the one that was sent.
var (
	blindWords = []string{"support", "multimodal", "vision", "missing data required for image"}
	faultWords = []string{"format", "media type", "media_type", "mime", "exceed", "too large", "too many", "size",
		"dimension", "decode", "base64", "corrupt", "could not process"}
)

// IsBlind tells whether a server's refusal, in lower case, says that the model sees no
// pictures. One that finds fault with a picture does not: the next may be taken.
func IsBlind(text string) bool {
	return strings.Contains(text, "image") && hasAny(text, blindWords) && !hasAny(text, faultWords)
}

func hasAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
