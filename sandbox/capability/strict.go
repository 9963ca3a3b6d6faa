package capability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrUnknownField is returned when JSON has a field that the format does not
// know. The error that wraps it names the field and its place.
var ErrUnknownField = errors.New("unknown field")

// Fault is returned when a manifest or a grant breaks the format.
type Fault struct {
	// Path is where, as in tools.search.labels[0]; "" for the whole.
	Path string
	// Message says what is wrong there.
	Message string

	cause error
}

func (f *Fault) Error() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// Unwrap returns ErrUnknownField where that is the cause.
func (f *Fault) Unwrap() error { return f.cause }

func fault(path, format string, args ...any) *Fault {
	return &Fault{Path: path, Message: fmt.Sprintf(format, args...)}
}

// maxDepth bounds the nesting of what is decoded; the formats need 6.
const maxDepth = 16

// decodeStrict fills target from JSON. Field names match exactly; an unknown
// field, a field given twice, null and bytes after the value are errors.
func decodeStrict(path string, data []byte, target any) error {
	if !utf8.Valid(data) {
		return fault(path, "it is not UTF-8")
	}
	if !json.Valid(data) {
		var v any
		return fault(path, "it is not JSON: %v", json.Unmarshal(data, &v))
	}
	return decodeValue(path, data, reflect.ValueOf(target).Elem(), 0)
}

func decodeValue(path string, data json.RawMessage, v reflect.Value, depth int) error {
	data = bytes.TrimSpace(data)
	if depth > maxDepth {
		return fault(path, "it is nested too deeply")
	}
	if bytes.Equal(data, []byte("null")) {
		return fault(path, "null is not a value here; leave the field out")
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes(bytes.Clone(data))
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decodeValue(path, data, v.Elem(), depth+1)
	case reflect.Struct:
		return decodeStruct(path, data, v, depth)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		return eachField(path, data, func(key string, value json.RawMessage) error {
			elem := reflect.New(v.Type().Elem()).Elem()
			if err := decodeValue(at(path, key), value, elem, depth+1); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(key), elem)
			return nil
		})
	case reflect.Slice:
		return decodeSlice(path, data, v, depth)
	default:
		if err := json.Unmarshal(data, v.Addr().Interface()); err != nil {
			return fault(path, "%s is not %s", shorten(string(data), 40), kindWord(v.Kind()))
		}
		return nil
	}
}

func decodeStruct(path string, data json.RawMessage, v reflect.Value, depth int) error {
	fields := map[string]int{}
	var names []string
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = i
			names = append(names, name)
		}
	}
	return eachField(path, data, func(key string, value json.RawMessage) error {
		i, known := fields[key]
		if !known {
			f := fault(at(path, key), "unknown field %q; known here are %s", key, strings.Join(names, ", "))
			f.cause = ErrUnknownField
			return f
		}
		return decodeValue(at(path, key), value, v.Field(i), depth+1)
	})
}

func decodeSlice(path string, data json.RawMessage, v reflect.Value, depth int) error {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return fault(path, "%s is not a list", shorten(string(data), 40))
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		if err := decodeValue(fmt.Sprintf("%s[%d]", path, i), item, list.Index(i), depth+1); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

// eachField visits the fields of an object in their order.
func eachField(path string, data json.RawMessage, visit func(string, json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return fault(path, "%s is not an object", shorten(string(data), 40))
	}
	var seen []string
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return fault(path, "it is not JSON: %v", err)
		}
		key, _ := tok.(string)
		if slices.Contains(seen, key) {
			return fault(at(path, key), "the field is given twice")
		}
		seen = append(seen, key)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil && !errors.Is(err, io.EOF) {
			return fault(at(path, key), "it is not JSON: %v", err)
		}
		if err := visit(key, value); err != nil {
			return err
		}
	}
	return nil
}

func at(path, key string) string {
	key = shorten(key, 64)
	if path == "" {
		return key
	}
	return path + "." + key
}

func kindWord(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	default:
		return "a whole number"
	}
}

// shorten cuts a text for a message, at a whole character.
func shorten(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n]) + "…"
}
