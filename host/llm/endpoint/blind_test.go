package endpoint

import "testing"

func TestAFaultOfOnePictureDoesNotBlindTheModel(t *testing.T) {
	for text, blind := range map[string]bool{
		"messages.0.content.0: image input is not supported":             true,
		"this model does not support images":                             true,
		"this model is missing data required for image input":            true,
		"the model is not multimodal and cannot take an image":           true,
		"image exceeds 5 mb maximum: 6291456 bytes":                      false,
		"unsupported image format":                                       false,
		"messages.0.content.1.image.source.base64: invalid base64 data":  false,
		"could not process image":                                        false,
		"image dimensions are not supported: at most 8000 pixels a side": false,
		"invalid image": false,
		"the requested thinking budget is not supported":                                        false,
		"too many images: this model supports 20 a request":                                     false,
		"image media type is not supported; use image/jpeg, image/png, image/gif or image/webp": false,
	} {
		if IsBlind(text) != blind {
			t.Errorf("%q: want %t", text, blind)
		}
	}
}
