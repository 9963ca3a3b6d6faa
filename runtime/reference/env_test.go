package reference_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	w "github.com/bulkhead-host/bulkhead/runtime/wasmbin/wasmtest"
)

// TestNoImportOfTheSDKIsMissing reads the names that the SDK's source gives its host
// functions. That each links here with the same type shows in every random program,
// which imports them all.
func TestNoImportOfTheSDKIsMissing(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(sdk, "host.go"))
	if err != nil {
		t.Fatal(err)
	}
	body := string(source[strings.Index(string(source), "func instantiateEnvModule"):])
	var found []string
	for _, m := range regexp.MustCompile(`(?:extismFunc|hostFunc|logFunc|Export)\("([a-z0-9_]+)"`).FindAllStringSubmatch(body, -1) {
		found = append(found, m[1])
	}
	slices.Sort(found)
	found = slices.Compact(found)
	var known []string
	for _, f := range kernelTypes {
		known = append(known, f.name)
	}
	slices.Sort(known)
	if !slices.Equal(found, known) {
		t.Errorf("the SDK has  %v\nhere are     %v", found, known)
	}
}

// block appends instructions that put a text into a new block, whose offset is in a local.
func (p *program) block(local uint32, text string) {
	p.do("alloc", w.Const64(int64(len(text))))
	p.code = append(p.code, w.Set(local))
	for i := range len(text) {
		p.do("store_u8", append(append(append([]byte(nil), w.Get(local)...), w.Const64(int64(i))...), w.Add64...),
			w.Const32(int32(text[i])))
	}
}

// seeBlock notes whether the block that a function gave is there, its length and its
// first byte.
func (p *program) seeBlock(local uint32) {
	p.code = append(p.code, w.Set(local), w.Get(local))
	p.see(w.Eqz64, extend)
	p.do("length", w.Get(local))
	p.see()
	p.do("load_u8", w.Get(local))
	p.see(extend)
}

// edges are programs whose result differs between careless loaders.
var edges = map[string]func(p *program){
	"config that is there": func(p *program) { p.block(0, "key"); p.do("config_get", w.Get(0)); p.seeBlock(1) },
	"config key's block stays": func(p *program) {
		p.block(0, "key")
		p.do("config_get", w.Get(0))
		p.seeBlock(1)
		p.do("length", w.Get(0))
		p.see()
	},
	"config that is not there": func(p *program) {
		p.block(0, "other")
		p.do("config_get",
			w.Get(0))
		p.seeBlock(1)
	},
	"config that is empty": func(p *program) {
		p.block(0, "empty")
		p.do("config_get",
			w.Get(0))
		p.seeBlock(1)
	},
	"config of the null block":      func(p *program) { p.do("config_get", w.Const64(0)); p.seeBlock(1) },
	"config of an offset of no use": func(p *program) { p.do("config_get", w.Const64(1<<20)); p.seeBlock(1) },
	"variable that was not set":     func(p *program) { p.block(0, "v"); p.do("var_get", w.Get(0)); p.seeBlock(1) },
	"variable that was set": func(p *program) {
		p.block(0, "v")
		p.block(1, "value")
		p.do("var_set", w.Get(0), w.Get(1))
		p.do("length", w.Get(0)) // both blocks are freed
		p.see()
		p.block(0, "v")
		p.do("var_get", w.Get(0))
		p.seeBlock(1)
	},
	"variable that was removed": func(p *program) {
		p.block(0, "v")
		p.block(1, "value")
		p.do("var_set", w.Get(0), w.Get(1))
		p.block(0, "v")
		p.do("var_set", w.Get(0), w.Const64(0))
		p.block(0, "v")
		p.do("var_get", w.Get(0))
		p.seeBlock(1)
	},
	"variable that was there is removed again": func(p *program) {
		p.block(0, "v")
		p.do("var_set", w.Get(0),
			w.Const64(0))
	},
	"variable of an offset outside": func(p *program) { p.block(0, "v"); p.do("var_set", w.Get(0), w.Const64(1<<20)) },
	"variable with an empty value": func(p *program) {
		p.block(0, "v")
		p.do("var_set", w.Get(0), append(append(append([]byte(nil), w.Get(0)...), w.Const64(1)...),
			w.Add64...)) // no block
		p.block(0, "v")
		p.do("var_get", w.Get(0))
		p.seeBlock(1)
	},
	"a log line outside": func(p *program) { p.do("log_warn", w.Const64(1<<20)) },
	"a variable of a megabyte": func(p *program) {
		p.block(0, "v")
		p.do("alloc", w.Const64(1<<20))
		p.code = append(p.code, w.Set(1))
		p.do("var_set", w.Get(0), w.Get(1))
	},
	"a variable just below a megabyte": func(p *program) {
		p.block(0, "v")
		p.do("alloc", w.Const64(1<<20-42))
		p.code = append(p.code, w.Set(1))
		p.do("var_set", w.Get(0), w.Get(1))
	},
	"a variable that is replaced counts twice meanwhile": func(p *program) {
		for range 2 {
			p.block(0, "v")
			p.do("alloc", w.Const64(600_000))
			p.code = append(p.code, w.Set(1))
			p.do("var_set", w.Get(0), w.Get(1))
		}
	},
	"a log line's block is freed": func(p *program) {
		p.block(0, "a line")
		p.do("log_warn", w.Get(0))
		p.do("length", w.Get(0))
		p.see()
		p.block(1, "quiet")
		p.do("log_trace", w.Get(1))
		p.do("length", w.Get(1))
		p.see()
	},
	"a log line of no block":        func(p *program) { p.do("log_error", w.Const64(0)) },
	"the log level is that of info": func(p *program) { p.do("get_log_level"); p.see(extend) },
	"no status before a request":    func(p *program) { p.do("http_status_code"); p.see(extend) },
	"8 bytes far outside":           func(p *program) { p.do("load_u64", w.Const64(1<<30)); p.see() },
	"8 bytes stored far outside":    func(p *program) { p.do("store_u64", w.Const64(1<<30), w.Const64(1)) },
	"input far outside":             func(p *program) { p.do("input_load_u64", w.Const64(1<<30)); p.see() },
	"input of 8 bytes":              func(p *program) { p.do("input_load_u64", w.Const64(0)); p.see() },
	"input after its block was freed": func(p *program) {
		p.do("input_offset")
		p.code = append(p.code, w.Call(p.index["free"]))
		p.do("input_length")
		p.see()
		p.do("input_load_u8", w.Const64(0))
		p.see(extend)
	},
	"output after its block was freed": func(p *program) {
		p.block(0, "gone")
		p.do("output_set", w.Get(0), w.Const64(4))
		p.do("free", w.Get(0))
		p.do("output_length")
		p.see()
	},
	"output of no bytes": func(p *program) {
		p.block(0, "text")
		p.do("output_set", w.Get(0), w.Const64(4))
		p.do("output_set", w.Get(0), w.Const64(0))
		p.do("output_length")
		p.see()
	},
	"error text after its block was freed": func(p *program) {
		p.block(0, "gone")
		p.do("error_set", w.Get(0))
		p.do("free", w.Get(0))
		p.do("error_get", w.Get(0))
		p.see(equal64, extend)
	},
	"the memory has a size":      func(p *program) { p.do("memory_bytes"); p.see(w.Eqz64, extend) },
	"a block of the whole space": func(p *program) { p.do("alloc", w.Const64(1<<40)); p.see(w.Eqz64, extend) },
}

func TestEdgesOfTheABIAreTheSDKs(t *testing.T) {
	for name, edge := range edges {
		t.Run(name, func(t *testing.T) {
			p := newProgram()
			edge(p)
			b := start(t, p.bytes(), map[string]string{"key": "value of key", "empty": ""})
			theirs, ours := b.call(t, "run", []byte("some input"))
			if theirs != ours {
				t.Errorf("SDK  %+v\nours %+v\nseen %v and %v", theirs, ours, words(theirs.output), words(ours.output))
			}
			b.sameLog(t)
		})
	}
}

// quirks are programs for which the SDK does what is left out here on purpose: see
// runtime/RATIONALE.md.
var quirks = map[string]struct {
	program      func(p *program)
	theirs, ours []uint64
}{
	"a length that overflows is allocated there": {
		func(p *program) { p.do("alloc", w.Const64(-1)); p.see(w.Eqz64, extend) }, []uint64{0}, []uint64{1}},
	"an offset loses its upper half there": {
		func(p *program) {
			p.block(0, "abcdefgh")
			p.do("load_u64", append(append(append([]byte(nil), w.Get(0)...), w.Const64(1<<32)...), w.Add64...))
			p.see()
		}, []uint64{0x6867666564636261}, nil},
	"input_load_u64 reads the call's input after input_set there": {
		func(p *program) {
			p.block(0, "abcdefgh")
			p.do("input_set", w.Get(0), w.Const64(8))
			p.do("input_load_u64", w.Const64(0))
			p.see()
		}, []uint64{0x3837363534333231}, []uint64{0x6867666564636261}},
}

func TestQuirksOfTheSDKAreNotRepeated(t *testing.T) {
	for name, quirk := range quirks {
		t.Run(name, func(t *testing.T) {
			p := newProgram()
			quirk.program(p)
			b := start(t, p.bytes(), nil)
			theirs, ours := b.call(t, "run", []byte("12345678"))
			if !slices.Equal(words(theirs.output), quirk.theirs) || !slices.Equal(words(ours.output), quirk.ours) {
				t.Errorf("SDK %x, ours %x", words(theirs.output), words(ours.output))
			}
			if ours.trapped != (quirk.ours == nil) {
				t.Errorf("ours %+v", ours)
			}
		})
	}
}
