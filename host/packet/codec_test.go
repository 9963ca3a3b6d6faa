package packet

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEveryTypeRoundTrips fills each registered payload with random values and
// reads back what it wrote.
func TestEveryTypeRoundTrips(t *testing.T) {
	for _, name := range Types() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := drawObj(t, name)
				data, err := EncodeObj(want)
				if err != nil {
					t.Fatal(err)
				}
				if prefix := `{"type":"` + name + `"`; !strings.HasPrefix(string(data), prefix) {
					t.Fatalf("%s does not begin with %s", data, prefix)
				}
				got, err := DecodeObj(data)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("wrote %#v\nread  %#v\nas %s", want, got, data)
				}
			})
		})
	}
}

func TestPacketRoundTripsWithItsPlacement(t *testing.T) {
	names := Types()
	slices.Sort(names)
	rapid.Check(t, func(t *rapid.T) {
		want := Packet{
			Run: rapid.String().Draw(t, "run"), Epoch: rapid.Int64().Draw(t, "epoch"),
			Seq: rapid.Int64().Draw(t, "seq"),
			Obj: drawObj(t, rapid.SampledFrom(names).Draw(t, "type")),
		}
		draw(t, reflect.ValueOf(&want.Placement).Elem(), "placement")
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Packet
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("wrote %#v\nread  %#v", want, got)
		}
	})
}

// drawObj draws a value of the payload type with that name.
func drawObj(t *rapid.T, name string) Obj {
	zero, err := DecodeObj([]byte(`{"type":"` + name + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.New(reflect.TypeOf(zero)).Elem()
	draw(t, v, name)
	return v.Interface().(Obj)
}

// draw fills v with what JSON can carry unchanged: no empty slice (absent is
// nil), valid UTF-8, compact raw JSON.
func draw(t *rapid.T, v reflect.Value, label string) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(rapid.SampledFrom([]string{`{}`, `{"a":[1,"b",null]}`, `"text"`, `[]`}).Draw(t, label)))
		return
	case v.Kind() == reflect.Pointer:
		if rapid.Bool().Draw(t, label+" set") {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem(), label)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i), label+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, label+" length")
		if n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range n {
			draw(t, v.Index(i), label)
		}
	case reflect.String:
		v.SetString(rapid.String().Draw(t, label))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, label))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, label))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, label))
	default:
		t.Fatalf("%s has the kind %s, which draw does not know", label, v.Kind())
	}
}

func TestUnknownTypeSurvivesUnchanged(t *testing.T) {
	const data = `{"run":"r_1","epoch":1,"seq":3,"placement":{"turn_index":0,"tab_index":0,"sub_turn_index":null,"sub_tab_index":null,"model_index":0},"obj":{"type":"hologram","depth":[1,2],"z":"é"}}`
	var p Packet
	if err := json.Unmarshal([]byte(data), &p); err != nil {
		t.Fatal(err)
	}
	u, ok := p.Obj.(Unknown)
	if !ok || u.Type() != "hologram" {
		t.Fatalf("read as %#v, want an Unknown", p.Obj)
	}
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != data {
		t.Fatalf("wrote %s\nread  %s", out, data)
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	obj, err := DecodeObj([]byte(`{"type":"message_delta","content":"x","colour":"blue","nested":{"type":"stop"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if obj != (MessageDelta{Content: "x"}) {
		t.Fatalf("read %#v", obj)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		is         error
	}{
		{"no type", `{"content":"x"}`, ErrNoType},
		{"empty type", `{"type":""}`, ErrNoType},
		{"null", `null`, ErrNoType},
		{"type is a number", `{"type":1}`, nil},
		{"an array", `[]`, nil},
		{"cut off", `{"type":"stop"`, nil},
		{"a field of another kind", `{"type":"message_delta","content":7}`, nil},
		{"empty", ``, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj, err := DecodeObj([]byte(tc.data))
			if err == nil {
				t.Fatalf("read %#v without an error", obj)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Fatalf("error %v is not %v", err, tc.is)
			}
		})
	}
}

func TestEncodeRefusesNoPayload(t *testing.T) {
	for _, obj := range []Obj{nil, Unknown{Name: "x"}} {
		if _, err := EncodeObj(obj); !errors.Is(err, ErrNoType) {
			t.Errorf("EncodeObj(%#v): %v, want ErrNoType", obj, err)
		}
	}
}

// TestNullsAreWritten holds the fields that a client reads as null to being
// there, not left out.
func TestNullsAreWritten(t *testing.T) {
	data, err := json.Marshal(Packet{Run: "r_1", Epoch: 1, Seq: 1, Obj: Stop{Reason: StopCompleted}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"run":"r_1","epoch":1,"seq":1,"placement":{"turn_index":0,"tab_index":0,"sub_turn_index":null,"sub_tab_index":null,"model_index":null},"obj":{"type":"stop","reason":"completed"}}`
	if string(data) != want {
		t.Fatalf("wrote %s\nwant  %s", data, want)
	}
}

func FuzzDecodeObj(f *testing.F) {
	for _, name := range Types() {
		f.Add([]byte(`{"type":"` + name + `"}`))
	}
	f.Add([]byte(`{"type":"tool_args","call_id":"c","arguments":{"q":"<b>"}}`))
	f.Add([]byte(`{"type":"hologram","TYPE":"stop"}`))
	f.Add([]byte(`{"type":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := DecodeObj(data)
		if err != nil {
			return
		}
		written, err := EncodeObj(first)
		if err != nil {
			t.Fatalf("%#v does not encode: %v", first, err)
		}
		second, err := DecodeObj(written)
		if err != nil {
			t.Fatalf("%s does not decode again: %v", written, err)
		}
		again, err := EncodeObj(second)
		if err != nil || !bytes.Equal(written, again) {
			t.Fatalf("wrote %s, then %s (%v)", written, again, err)
		}
	})
}

func FuzzPacket(f *testing.F) {
	f.Add([]byte(`{"run":"r_1","epoch":1,"seq":1,"placement":{"turn_index":0},"obj":{"type":"stop","reason":"error"}}`))
	f.Add([]byte(`{"obj":{"type":"x"},"placement":{"sub_turn_index":-1}}`))
	f.Add([]byte(`{"obj":null}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p Packet
		if err := json.Unmarshal(data, &p); err != nil {
			return
		}
		if _, err := json.Marshal(p); err != nil {
			t.Fatalf("%s reads and does not write: %v", data, err)
		}
	})
}
