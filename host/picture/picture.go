// Package picture tells whether bytes are a picture that models see, which kind,
// and how large it is.
//
// Bytes come in; the kind and the size in pixels, or an error with a sentence for
// a person, go out. Only headers and the bounds of parts are read: no pixel is ever
// decoded here, so a small file that unfolds into a huge picture costs nothing. It
// must not know owners, stores, models or HTTP.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"slices"

	"golang.org/x/image/webp"
)

const (
	// MaxBytes is the largest picture that is taken (8 MiB).
	MaxBytes = 8 << 20
	// MaxPixels is the most pixels that one has, width times height.
	MaxPixels = 50_000_000
)

var (
	// ErrTooLarge is matched when a picture has more than MaxBytes or MaxPixels.
	ErrTooLarge = errors.New("the picture is too large")
	// ErrDamaged is matched when bytes begin as a picture and are not a whole one.
	ErrDamaged = errors.New("the picture is damaged")
)

// Error is why a picture is not taken. It matches one of the sentinels.
type Error struct {
	// Message is a sentence for a person.
	Message string
	kind    error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.kind }

// Picture is what the header of a picture says.
type Picture struct {
	// MediaType is one of MediaTypes.
	MediaType string
	// Width and Height are in pixels, at least 1.
	Width, Height int
}

// format is a kind of picture.
type format struct {
	mediaType, name string
	begins          func(data []byte) bool
	header          func(io.Reader) (image.Config, error)
	// whole tells whether the parts of the file reach its end.
	whole func(data []byte) bool
}

var formats = []format{
	{"image/png", "PNG", beginsWith("\x89PNG\r\n\x1a\n"), png.DecodeConfig, wholePNG},
	{"image/jpeg", "JPEG", beginsWith("\xff\xd8\xff"), jpeg.DecodeConfig, wholeJPEG},
	{"image/gif", "GIF", beginsWith("GIF87a", "GIF89a"), gif.DecodeConfig, wholeGIF},
	{"image/webp", "WebP", beginsWebP, webp.DecodeConfig, wholeWebP},
}

func beginsWith(marks ...string) func([]byte) bool {
	return func(data []byte) bool {
		return slices.ContainsFunc(marks, func(m string) bool { return bytes.HasPrefix(data, []byte(m)) })
	}
}

// MediaTypes are the kinds of pictures that are told.
func MediaTypes() []string {
	out := make([]string, len(formats))
	for i, f := range formats {
		out[i] = f.mediaType
	}
	return out
}

// Is tells whether data begins as a picture does, whatever its name is.
func Is(data []byte) bool {
	_, ok := formatOf(data)
	return ok
}

func formatOf(data []byte) (format, bool) {
	at := slices.IndexFunc(formats, func(f format) bool { return f.begins(data) })
	if at < 0 {
		return format{}, false
	}
	return formats[at], true
}

// Read reads a picture; name is what the sentence of an error calls it. It returns
// an *Error that matches ErrTooLarge or ErrDamaged, the latter also for what is no
// picture at all. It is safe for concurrent use.
func Read(name string, data []byte) (Picture, error) {
	f, ok := formatOf(data)
	if !ok {
		return Picture{}, &Error{fmt.Sprintf("%s is no PNG, JPEG, GIF or WebP picture.", name), ErrDamaged}
	}
	if len(data) > MaxBytes {
		return Picture{}, &Error{fmt.Sprintf("%s has %.1f MiB; a picture has at most %d MiB. Attach a smaller copy.",
			name, float64(len(data))/(1<<20), MaxBytes>>20), ErrTooLarge}
	}
	config, err := f.header(bytes.NewReader(data))
	if err != nil || config.Width < 1 || config.Height < 1 {
		return Picture{}, &Error{fmt.Sprintf("%s begins as a %s picture, but its header cannot be read. It is "+
			"damaged or not whole.", name, f.name), ErrDamaged}
	}
	if int64(config.Width)*int64(config.Height) > MaxPixels {
		return Picture{}, &Error{fmt.Sprintf("%s has %d × %d pixels; a picture has at most %d million. Attach a "+
			"smaller copy.", name, config.Width, config.Height, MaxPixels/1_000_000), ErrTooLarge}
	}
	if !f.whole(data) {
		return Picture{}, &Error{fmt.Sprintf("%s is a %s picture whose end is missing. Save it again, or attach "+
			"another copy.", name, f.name), ErrDamaged}
	}
	return Picture{f.mediaType, config.Width, config.Height}, nil
}
