package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

// attach serves files by name; ids are f_0, f_1, …
func attach(t *testing.T, files ...[2]string) {
	t.Helper()
	var list []pdk.AttachedFile
	for i, f := range files {
		list = append(list, pdk.AttachedFile{ID: fmt.Sprint("f_", i), Name: f[0], Characters: len([]rune(f[1]))})
	}
	t.Cleanup(pdk.SetHost(pdk.HostFunc(func(function string, in []byte) []byte {
		out := any(map[string]any{"files": list})
		if function == "file_read" {
			var a struct {
				FileID        string `json:"file_id"`
				Offset, Limit int
			}
			if err := json.Unmarshal(in, &a); err != nil {
				t.Error(err)
			}
			var at int
			if _, err := fmt.Sscanf(a.FileID, "f_%d", &at); err != nil {
				t.Error(err)
			}
			runes := []rune(files[at][1])
			out = map[string]any{"text": string(runes[min(a.Offset, len(runes)):min(a.Offset+a.Limit, len(runes))]),
				"total": len(runes)}
		}
		data, err := json.Marshal(map[string]any{"ok": out})
		if err != nil {
			t.Error(err)
		}
		return data
	})))
}

type output struct {
	Content []struct{ Text string }
	IsError bool
	Meta    struct {
		Documents []pdk.Document `json:"bulkhead/documents"`
	} `json:"_meta"`
}

func run(t *testing.T, arguments string) (output, answer) {
	t.Helper()
	data, err := pdk.CallTool(fmt.Appendf(nil,
		`{"request":{"name":"read_file","arguments":%s},"context":{"id":"c","_meta":{"bulkhead/refs":{"start":101,"count":100},"bulkhead/citations":{"f_1":7}}}}`, arguments))
	if err != nil {
		t.Fatal(err)
	}
	var out output
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	var a answer
	if !out.IsError {
		if err := json.Unmarshal([]byte(out.Content[0].Text), &a); err != nil {
			t.Fatal(err)
		}
	}
	return out, a
}

func TestAFileIsReadToItsEndInParts(t *testing.T) {
	row := "straße;hafen;größe;1234567\n"
	whole := strings.Repeat(row, 2000)
	attach(t, [2]string{"häfen.csv", whole})
	var got strings.Builder
	next, parts := 0, 0
	for parts == 0 || next > 0 {
		_, a := run(t, fmt.Sprintf(`{"file":"Häfen.csv","offset":%d}`, next))
		if !strings.HasSuffix(a.Results[0].Content, "\n") {
			t.Fatal("a row is torn")
		}
		got.WriteString(a.Results[0].Content)
		if next, parts = a.NextOffset, parts+1; parts > 20 {
			t.Fatal("it does not end")
		}
	}
	if got.String() != whole || parts < 4 {
		t.Errorf("%d parts, %d of %d bytes", parts, got.Len(), len(whole))
	}
}

func TestAFileIsCitedUnderItsRef(t *testing.T) {
	attach(t, [2]string{"a.txt", "first"}, [2]string{"b.txt", "second"})
	out, a := run(t, `{"file":"f_1"}`)
	if a.Results[0].Ref != 7 || a.Results[0].Content != "second" || a.Note != "This is the end of the file." ||
		out.Meta.Documents[0].Title != "b.txt" {
		t.Errorf("%+v %+v", a, out.Meta)
	}
	if _, a = run(t, `{"file":"a.txt"}`); a.Results[0].Ref != 101 {
		t.Errorf("%+v", a)
	}
}

func TestAnEmptyFileIsRead(t *testing.T) {
	attach(t, [2]string{"empty", ""})
	if out, a := run(t, `{"file":"empty"}`); out.IsError || a.Results[0].Content != "" || a.NextOffset != 0 {
		t.Errorf("%+v", out)
	}
}

func TestWrongFilesAndPlacesAreSaid(t *testing.T) {
	attach(t, [2]string{"a.txt", "first"})
	for arguments, says := range map[string]string{
		`{"file":"b.txt"}`:              `"a.txt" (id f_0, 5 characters)`,
		`{"file":"a.txt","offset":5}`:   "beyond its end",
		`{"file":"a.txt","offset":-1}`:  "not negative",
		`{"path":"a.txt"}`:              `"path"`,
		`{"file":"a.txt","limit":"ab"}`: "arguments of read_file are wrong",
	} {
		if out, _ := run(t, arguments); !out.IsError || !strings.Contains(out.Content[0].Text, says) {
			t.Errorf("%s: %+v", arguments, out)
		}
	}
	attach(t)
	if out, _ := run(t, `{"file":"a.txt"}`); !out.IsError ||
		!strings.Contains(out.Content[0].Text, "No file is attached") {
		t.Errorf("%+v", out)
	}
}

func TestAPictureIsNotReadAsText(t *testing.T) {
	attach(t, [2]string{"boat.png", ""})
	restore := pdk.SetHost(pdk.HostFunc(func(function string, _ []byte) []byte {
		if function == "file_read" {
			t.Error("a picture was read")
		}
		return []byte(`{"ok":{"files":[{"id":"f_0","name":"boat.png","media_type":"image/png"},{"id":"f_1","name":"plan.svg","media_type":"image/svg+xml","characters":6}]}}`)
	}))
	defer restore()
	out, _ := run(t, `{"file":"boat.png"}`)
	if !out.IsError || !strings.Contains(out.Content[0].Text, "boat.png is a picture (image/png)") {
		t.Errorf("%+v", out)
	}
	out, _ = run(t, `{"file":"none"}`)
	if !out.IsError || !strings.Contains(out.Content[0].Text,
		`"boat.png" (id f_0, a picture), "plan.svg" (id f_1, 6 characters)`) {
		t.Errorf("%+v", out)
	}
}
