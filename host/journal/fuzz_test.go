package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"reflect"
	"testing"
)

func FuzzDecodeSection(f *testing.F) {
	l := New("r_1", 2)
	l.add(text(0, "a"), named("b"), text(1, "c"))
	rows, _ := l.rowsOf(mark{}, nil)
	good := section{run: "r_1", epoch: 2, before: mark{3, 4}, rows: rows}.encode(nil)
	for _, seed := range [][]byte{good, good[:len(good)-3], append(good, "more"...), {0, 0, 0, 0},
		{255, 255, 255, 255}} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, data []byte, sum bool) {
		if sum && len(data) >= 4 { // so that what is behind the sum of the header is met
			n := uint64(binary.LittleEndian.Uint32(data))
			if n+8 <= uint64(len(data)) {
				data = bytes.Clone(data)
				binary.LittleEndian.PutUint32(data[4+n:], crc32.Checksum(data[4:4+n], castagnoli))
			}
		}
		s, rest, err := decodeSection(data)
		if err != nil {
			return
		}
		log := New(s.run, max(s.epoch, 1))
		log.load(s)
		if s.before.position() <= maxMissing && log.mark.position() < int64(len(s.rows)) {
			t.Errorf("%d records of %d rows", log.mark.position(), len(s.rows))
		}
		for _, r := range s.rows {
			if r.damaged != nil {
				return
			}
		}
		again, more, err := decodeSection(append(s.encode(nil), rest...))
		if err != nil || !bytes.Equal(more, rest) || !reflect.DeepEqual(again, s) {
			t.Errorf("written again it is %+v, %v, was %+v", again, err, s)
		}
	})
}

func FuzzDecodeFact(f *testing.F) {
	for _, fact := range everyFact() {
		_, data := encodeFact(fact)
		f.Add(data)
	}
	f.Add([]byte(`{"fact":"of a later version","v":9,"of":[1, 2]}`))
	f.Add([]byte(`{"fact":"step","v":1}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		fact, err := decodeFact(data)
		if err != nil {
			return
		}
		_, written := encodeFact(fact)
		again, err := decodeFact(written)
		if err != nil || again.FactType() != fact.FactType() {
			t.Fatalf("%s is read as %+v, written as %s, then %+v, %v", data, fact, written, again, err)
		}
		_, twice := encodeFact(again)
		if !bytes.Equal(written, twice) {
			t.Errorf("%s is written as %s, then as %s", data, written, twice)
		}
	})
}

func FuzzDecodePacket(f *testing.F) {
	f.Add([]byte(`{"placement":{"turn_index":1,"tab_index":0,"model_index":0},` +
		`"obj":{"type":"message_delta","content":"a"}}`))
	f.Add([]byte(`{"placement":{},"obj":{"type":"of a later version","x":[1, 2]}}`))
	f.Add([]byte(`{"placement":{"model_index":-1},"obj":{"type":"stop"}}`))
	f.Add([]byte(`{"obj":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		place, obj, err := decodePacket(data)
		if err != nil {
			return
		}
		l := New("r_1", 1)
		l.add(Packet(place, obj))
		entry := l.packed[0]
		want, err := json.Marshal(entry.Packet)
		if err != nil || !bytes.Equal(entry.JSON, want) {
			t.Errorf("the entry is %s, should be %s (%v)", entry.JSON, want, err)
		}
		againPlace, again, err := decodePacket(append([]byte{'{'}, entry.JSON[entry.at:]...))
		if err != nil || again.Type() != entry.Packet.Obj.Type() || againPlace.Key() != place.Key() {
			t.Errorf("%s is read as %+v %+v, then %+v %+v (%v)", data, place.Key(), obj, againPlace.Key(), again, err)
		}
		_ = Answers(l.Records(), 1)
		_ = Closings(l, 1)
	})
}

// everyFact has each fact with each of its fields set.
func everyFact() (facts []Fact) {
	for name, read := range factTypes {
		fact, err := read(json.RawMessage(`{}`))
		if err != nil {
			panic(name)
		}
		v := reflect.New(reflect.TypeOf(fact)).Elem()
		fill(v)
		facts = append(facts, v.Interface().(Fact))
	}
	return facts
}

// fill sets every field to something.
func fill(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"a":"<b>"}`))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.Kind() == reflect.String:
		v.SetString("a <b> \u2028 c")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(7)
	case v.CanFloat():
		v.SetFloat(0.5)
	default:
		panic(v.Kind())
	}
}
