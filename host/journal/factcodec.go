package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// factVersion is the version of the facts that this program writes. One that it
// reads may be older: what it lacks has its zero value.
const factVersion = 1

// envelope is a fact on disk.
type envelope struct {
	Fact string          `json:"fact"`
	V    int             `json:"v"`
	Of   json.RawMessage `json:"of"`
}

// factTypes are the readers of facts by their names.
var factTypes = map[string]func(json.RawMessage) (Fact, error){
	Begun{}.FactType():       readFact[Begun],
	Step{}.FactType():        readFact[Step],
	CallStarted{}.FactType(): readFact[CallStarted],
	CallDone{}.FactType():    readFact[CallDone],
	Note{}.FactType():        readFact[Note],
	Held{}.FactType():        readFact[Held],
	Outcome{}.FactType():     readFact[Outcome],
	End{}.FactType():         readFact[End],
}

func readFact[F Fact](data json.RawMessage) (Fact, error) {
	var f F
	err := json.Unmarshal(data, &f)
	return f, err
}

// encodeFact writes a fact and returns it as it is written. One that cannot be
// encoded, such as a Step whose Native is no JSON, is a fault of the host; it is
// written without what cannot.
func encodeFact(f Fact) (Fact, []byte) {
	if u, ok := f.(Unknown); ok {
		return f, u.Raw
	}
	of, err := plainJSON(f)
	if err != nil {
		f = repaired(f)
		of, _ = plainJSON(f)
	}
	data, _ := plainJSON(envelope{f.FactType(), factVersion, of})
	return f, data
}

// repaired is a fact without the JSON that others handed in and that is none, and
// without a cost that is no number. Nothing else can fail to encode.
func repaired(f Fact) Fact {
	switch f := f.(type) {
	case Step:
		f.Native = validJSON(f.Native)
		if f.Usage != nil && (math.IsNaN(f.Usage.Cost) || math.IsInf(f.Usage.Cost, 0)) {
			usage := *f.Usage
			usage.Cost = 0
			f.Usage = &usage
		}
		return f
	case CallDone:
		f.Structured = validJSON(f.Structured)
		return f
	case Begun:
		f.Agent = validJSON(f.Agent)
		return f
	}
	return f
}

// validJSON is data, or nil where that is no JSON.
func validJSON(data json.RawMessage) json.RawMessage {
	if !json.Valid(data) {
		return nil
	}
	return data
}

// plainJSON encodes without escapes for HTML.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// decodeFact reads what encodeFact wrote. A type that this version does not know
// becomes Unknown.
func decodeFact(data []byte) (Fact, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("decode a fact: %w", err)
	}
	read, ok := factTypes[e.Fact]
	if !ok {
		return Unknown{Name: e.Fact, Raw: bytes.Clone(data)}, nil
	}
	f, err := read(e.Of)
	if err != nil {
		return nil, fmt.Errorf("decode the fact %s: %w", e.Fact, err)
	}
	return f, nil
}
