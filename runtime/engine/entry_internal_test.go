package engine

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// FuzzEntry asserts that any bytes are either refused or an entry, and that an entry is the
// same after it was written and read again.
func FuzzEntry(f *testing.F) {
	for n := range byte(5) {
		made, err := makeEntry(w.Generate([]byte{n}))
		if err != nil {
			f.Fatal(err)
		}
		data, err := made.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, '{', '}'})
	f.Add([]byte("\x02\x00\x00\x00{}"))
	f.Add([]byte("\x04\x00\x00\x00null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeEntry(data)
		if err != nil {
			if !errors.Is(err, errEntry) {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		out, err := e.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeEntry(out)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.hardened, e.hardened) || !reflect.DeepEqual(again.summary, e.summary) {
			t.Errorf("%+v became %+v", e.summary, again.summary)
		}
	})
}
