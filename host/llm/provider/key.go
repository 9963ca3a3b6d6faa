package provider

import "log/slog"

// hidden is what every printed form of a Key says.
const hidden = "[hidden]"

// Key is a provider's credential. It shows itself only through Reveal: every
// way of printing, encoding or logging it, also as a field of a struct that is
// printed whole, gives no character of it. The zero Key is empty.
type Key struct {
	// The text sits behind a function because fmt prints unexported fields of a
	// nested struct without asking their methods.
	reveal func() string
}

// NewKey returns a key that hides text. An empty text gives the zero Key.
func NewKey(text string) Key {
	if text == "" {
		return Key{}
	}
	return Key{reveal: func() string { return text }}
}

// Reveal returns the text, for the one place that sends it.
func (k Key) Reveal() string {
	if k.reveal == nil {
		return ""
	}
	return k.reveal()
}

// IsZero tells whether there is no key.
func (k Key) IsZero() bool { return k.reveal == nil }

// String says that there is a key, not which.
func (k Key) String() string {
	if k.reveal == nil {
		return ""
	}
	return hidden
}

// GoString is String, for %#v.
func (k Key) GoString() string { return k.String() }

// MarshalText is String, for JSON, YAML and every other encoding.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue is String, for slog.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }
