package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"
)

// canvas is a picture of so many pixels in two colours.
func canvas(width, height int) image.Image {
	m := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})
	for i := range m.Pix {
		m.Pix[i] = uint8(i % 2)
	}
	return m
}

// samples are pictures as encoders write them, all 6 wide and 4 high. The WebP is
// lossless, in the simple form of RFC 9649.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	var p, j, g bytes.Buffer
	err := errors.Join(png.Encode(&p, canvas(6, 4)), jpeg.Encode(&j, canvas(6, 4), nil),
		gif.Encode(&g, canvas(6, 4), nil))
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"image/png": p.Bytes(), "image/jpeg": j.Bytes(), "image/gif": g.Bytes(),
		"image/webp": losslessWebP(6, 4)}
}

// losslessWebP writes the header of a picture and one word of its stream.
func losslessWebP(width, height int) []byte {
	stream := []byte{0x2f}
	stream = binary.LittleEndian.AppendUint32(stream, uint32(width-1)|uint32(height-1)<<14)
	stream = append(stream, 0x07, 0x50, 0xfc, 0x7f, 0x00)
	return riff("VP8L", stream)
}

func riff(name string, stream []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(4+8+len(stream)+len(stream)%2))
	out = append(out, "WEBP"+name...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(stream)))
	return append(append(out, stream...), make([]byte, len(stream)%2)...)
}

// claiming is a PNG of one pixel whose header claims another size.
func claiming(t testing.TB, width, height uint32) []byte {
	data := bytes.Clone(samples(t)["image/png"])
	binary.BigEndian.PutUint32(data[16:], width)
	binary.BigEndian.PutUint32(data[20:], height)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

func TestTheKindAndTheSizeAreReadFromTheBytes(t *testing.T) {
	all := samples(t)
	// The lossy one was written by an encoder; it is 1 by 1.
	lossy, err := base64.StdEncoding.DecodeString("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Read("a", lossy); err != nil || got != (Picture{"image/webp", 1, 1}) {
		t.Errorf("lossy WebP: %+v, %v", got, err)
	}
	animated := riff("VP8X", []byte{2, 0, 0, 0, 99, 0, 0, 49, 0, 0})
	if got, err := Read("a", animated); err != nil || got != (Picture{"image/webp", 100, 50}) {
		t.Errorf("extended WebP: %+v, %v", got, err)
	}
	for mediaType, data := range all {
		got, err := Read("letter.txt", data)
		if err != nil || got != (Picture{mediaType, 6, 4}) || !Is(data) {
			t.Errorf("%s: %+v, %v", mediaType, got, err)
		}
		if got, err = Read("a", append(bytes.Clone(data), "more behind it"...)); err != nil || got.Width != 6 {
			t.Errorf("%s with more behind it: %+v, %v", mediaType, got, err)
		}
	}
	if types := MediaTypes(); len(types) != len(all) || slices.Contains(types, "image/svg+xml") {
		t.Errorf("types are %v", types)
	}
}

func TestAPictureThatIsCutAnywhereIsRefused(t *testing.T) {
	for mediaType, data := range samples(t) {
		for n := range len(data) {
			_, err := Read("cut", data[:n])
			var e *Error
			if !errors.Is(err, ErrDamaged) || !errors.As(err, &e) || !strings.HasPrefix(e.Message, "cut ") {
				t.Fatalf("%s cut at %d of %d: %v", mediaType, n, len(data), err)
			}
		}
	}
}

func TestAPreviewsEndIsNotThePicturesEnd(t *testing.T) {
	data := samples(t)["image/jpeg"]
	preview := append([]byte{0xff, 0xd8, 0xff, 0xe1, 0, 6, 0xff, 0xd9, 0, 0}, data[2:]...)
	if _, err := Read("a.jpg", preview); err != nil {
		t.Error(err)
	}
	if _, err := Read("a.jpg", preview[:len(preview)-2]); !errors.Is(err, ErrDamaged) {
		t.Errorf("without its end: %v", err)
	}
}

func TestWhatIsTooLargeOrNoPictureIsRefusedInWords(t *testing.T) {
	heavy := append(bytes.Clone(samples(t)["image/png"]), make([]byte, MaxBytes)...)
	for name, c := range map[string]struct {
		data []byte
		kind error
		says string
	}{
		"heavy.png": {heavy, ErrTooLarge, "8.0 MiB; a picture has at most 8 MiB"},
		"bomb.png":  {claiming(t, 50_000, 50_000), ErrTooLarge, "50000 × 50000 pixels"},
		"wide.png":  {claiming(t, 1<<31-1, 1), ErrTooLarge, "× 1 pixels"},
		"none.png":  {claiming(t, 0, 7), ErrDamaged, "header cannot be read"},
		"line.png":  {[]byte("\x89PNG\r\n\x1a\nand no more"), ErrDamaged, "header cannot be read"},
		"vect.png":  {[]byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), ErrDamaged, "no PNG, JPEG, GIF or WebP"},
		"empty.png": {nil, ErrDamaged, "no PNG"},
	} {
		_, err := Read(name, c.data)
		var e *Error
		if !errors.Is(err, c.kind) || !errors.As(err, &e) || !strings.HasPrefix(e.Message, name) ||
			!strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := Read("most.png", claiming(t, 50_000, 1000)); err != nil || got.Width*got.Height != MaxPixels {
		t.Errorf("the most: %+v, %v", got, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add(claiming(f, 1<<31-1, 1<<31-1))
	f.Add(riff("VP8X", []byte{2, 0, 0, 0, 99, 0, 0, 49, 0, 0}))
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Read("a", data)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Message == "" || got != (Picture{}) {
				t.Fatalf("%+v, %v", got, err)
			}
			return
		}
		if !Is(data) || got.Width < 1 || got.Height < 1 || int64(got.Width)*int64(got.Height) > MaxPixels ||
			!slices.Contains(MediaTypes(), got.MediaType) {
			t.Fatalf("%+v", got)
		}
	})
}
