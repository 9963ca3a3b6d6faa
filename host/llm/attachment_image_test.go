package llm

import (
	"strings"
	"testing"
)

func TestAnImageThatIsTooLargeForAProviderIsNamedInWords(t *testing.T) {
	m := Message{Text: "These?", Attachments: []Attachment{
		{ID: "f_1", Name: "small.png", MediaType: "image/png", Bytes: 2, Image: []byte("ab")},
		{ID: "f_2", Name: "large.png", MediaType: "image/png", Bytes: 3, Image: []byte("abc")},
	}}
	text, images := m.ImagesUpTo(2).Seen()
	if len(images) != 1 || images[0].ID != "f_1" || !strings.Contains(text, "image 1 of this message") ||
		!strings.Contains(text, "3 bytes, an image that is not sent to you: it is too large") {
		t.Errorf("%q, %d images", text, len(images))
	}
	if len(m.Attachments[1].Image) != 3 {
		t.Error("the message that came in was changed")
	}
	if sees, blind := m.Tokens(true), m.Tokens(false); sees < 2*ImageTokens || blind >= ImageTokens {
		t.Errorf("%d and %d tokens", sees, blind)
	}
}
