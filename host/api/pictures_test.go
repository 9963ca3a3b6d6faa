package api

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
)

// aPNG is a picture as an encoder writes it.
func aPNG(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// bomb is a small file whose header claims so many pixels on each side.
func bomb(t *testing.T, side uint32) string {
	data := []byte(aPNG(t, 1, 1))
	binary.BigEndian.PutUint32(data[16:], side)
	binary.BigEndian.PutUint32(data[20:], side)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return string(data)
}

func TestAPictureIsAttachedSentAndShownToItsOwnerOnly(t *testing.T) {
	h := newHost(t)
	data := aPNG(t, 8, 5)
	got := h.attach(map[string]string{"boat.txt": data})
	if len(got.Files) != 1 || len(got.Failed) != 0 {
		t.Fatalf("%+v", got)
	}
	file := got.Files[0]
	if file.Name != "boat.txt" || file.MediaType != "image/png" || file.Width != 8 || file.Height != 5 ||
		file.Bytes != int64(len(data)) || file.Characters != 0 {
		t.Errorf("under a lying name: %+v", file)
	}
	var whole rest.FileView
	if h.call("GET", apiRoot+"/files/"+file.ID, "", http.StatusOK, &whole); whole.Text != nil || whole.Width != 8 {
		t.Errorf("its record: %+v", whole)
	}
	shown := apiRoot + "/files/" + file.ID + "/picture"
	res, body := h.do(h.request("GET", shown, ""))
	if res.StatusCode != http.StatusOK || string(body) != data {
		t.Fatalf("%d, %d bytes", res.StatusCode, len(body))
	}
	for name, want := range map[string]string{"Content-Type": "image/png", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": rest.PicturePolicy, "Cache-Control": "no-store"} {
		if value := res.Header.Get(name); value != want {
			t.Errorf("%s is %q", name, value)
		}
	}
	h.model.Add(llmtest.Answer().Text("I cannot see it."))
	var ack rest.PostAck
	h.call("POST", newMessages, sendWithFiles("What is it?", file.ID), http.StatusAccepted, &ack)
	h.waitFor(ack.Run)
	asked := h.model.Requests()[0].Last().Content
	if !strings.Contains(asked, "image/png, 8 × 5 pixels") ||
		!strings.Contains(asked, "an image that you cannot see ===") {
		t.Errorf("a model without vision got %q", asked)
	}
	var detail struct{ Messages []rest.MessageView }
	h.call("GET", apiRoot+"/sessions/"+ack.SessionID, "", http.StatusOK, &detail)
	if files := detail.Messages[0].Files; len(files) != 1 || files[0].MediaType != "image/png" {
		t.Errorf("%+v", detail.Messages[0])
	}
	owner := h.cookie
	h.become("eve", true)
	h.fails(h.request("GET", shown, ""), http.StatusNotFound, "unknown_file")
	h.fails(h.request("POST", newMessages, sendWithFiles("Mine?", file.ID)), http.StatusNotFound, "unknown_file")
	h.cookie = ""
	h.fails(h.request("GET", shown, ""), http.StatusUnauthorized, fault.SignedOut)
	h.cookie = owner
	h.call("DELETE", apiRoot+"/files/"+file.ID, "", http.StatusNoContent, nil)
	h.fails(h.request("GET", shown, ""), http.StatusNotFound, "unknown_file")
}

func TestWhatIsNoWholePictureIsRefusedInWords(t *testing.T) {
	h := newHost(t)
	whole := aPNG(t, 40, 40)
	for name, c := range map[string]struct {
		data string
		code fault.Code
		says string
	}{
		"cut.png":   {whole[:len(whole)-20], "damaged_picture", "whose end is missing"},
		"head.png":  {whole[:20], "damaged_picture", "header cannot be read"},
		"bomb.png":  {bomb(t, 60_000), fault.TooLarge, "60000 × 60000 pixels"},
		"heavy.png": {whole + strings.Repeat("\x00", 8<<20), fault.TooLarge, "at most 8 MiB"},
		"photo.tif": {"II*\x00\x08\x00\x00\x00", "not_text", "PNG, JPEG, GIF and WebP pictures"},
	} {
		got := h.attach(map[string]string{name: c.data})
		if len(got.Files) != 0 || len(got.Failed) != 1 || got.Failed[0].Error.Code != c.code ||
			!strings.HasPrefix(got.Failed[0].Error.Message, name) ||
			!strings.Contains(got.Failed[0].Error.Message, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// Text that calls itself a picture is text, and is never served as a picture.
	for name, data := range map[string]string{"page.png": "<script>alert(1)</script>",
		"drawing.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>"} {
		got := h.attach(map[string]string{name: data})
		if len(got.Files) != 1 || got.Files[0].Width != 0 || got.Files[0].MediaType == "image/png" {
			t.Fatalf("%s: %+v", name, got)
		}
		h.fails(h.request("GET", apiRoot+"/files/"+got.Files[0].ID+"/picture", ""), http.StatusNotFound, "unknown_file")
	}
}
