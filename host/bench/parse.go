package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// piece is how many bytes a model's stream brings at once.
const piece = 64

// pieces cuts a text as a stream does.
func pieces(text string) []string {
	out := make([]string, 0, len(text)/piece+1)
	for len(text) > piece {
		out = append(out, text[:piece])
		text = text[piece:]
	}
	return append(out, text)
}

// stream runs the pieces of one answer through a parser and counts the calls.
func stream(chunks []string) int {
	p := salvage.New(salvage.Options{})
	calls := 0
	count := func(events []salvage.Event) {
		for _, e := range events {
			if _, ok := e.(salvage.Call); ok {
				calls++
			}
		}
	}
	for _, c := range chunks {
		count(p.Write(c))
	}
	count(p.Close())
	return calls
}

// fill repeats a text up to size bytes.
func fill(text string, size int) string { return strings.Repeat(text, size/len(text)+1)[:size] }

func prose(size int) string {
	return fill("The keel was laid in spring, and by autumn the hull stood; nobody had counted the rivets, but all "+
		"agreed there were many. ", size)
}

func parseProse(context.Context) ([]Result, error) {
	const size = 1 << 20
	chunks := pieces(prose(size))
	d, allocs := timed(func() { stream(chunks) })
	return []Result{
		{Name: "parse/prose", Value: speed(size, d), Unit: "MB/s"},
		{Name: "parse/prose-allocations", Value: allocs, Unit: "allocations/MiB"},
	}, nil
}

func parseCode(context.Context) ([]Result, error) {
	const size = 1 << 20
	chunks := pieces(fill("for (int i = 0; i < n; ++i) { if (a[i] && b[i] < c[{i}]) { out.push({ \"k\": [i, i+1] }); "+
		"} }\n", size))
	d, _ := timed(func() { stream(chunks) })
	return []Result{{Name: "parse/code", Value: speed(size, d), Unit: "MB/s"}}, nil
}

// parseOneCall parses a call with one argument of 200 KB, and for reference only
// decodes the same JSON, whole, with encoding/json.
func parseOneCall(context.Context) ([]Result, error) {
	body, err := json.Marshal(map[string]any{"name": "write_file", "arguments": map[string]string{
		"content": fill("A line of the file, with \"quotes\" and a tab\t.\n", 200_000),
	}})
	if err != nil {
		return nil, err
	}
	text := "<tool_call>" + string(body) + "</tool_call>"
	chunks := pieces(text)
	if n := stream(chunks); n != 1 {
		return nil, fmt.Errorf("%d calls were found, not 1", n)
	}
	d, _ := timed(func() { stream(chunks) })
	reference, _ := timed(func() {
		var v struct {
			Name      string
			Arguments map[string]string
		}
		if json.Unmarshal(body, &v) != nil { // it was written by json.Marshal
			v.Name = ""
		}
	})
	return []Result{Result{Name: "parse/one-call", Value: speed(len(text), d), Unit: "MB/s"}.against("encoding/json",
		speed(len(body), reference))}, nil
}

// parseGrowth compares the time per byte of 4 MiB with that of 64 KiB: 1 is
// linear.
func parseGrowth(context.Context) ([]Result, error) {
	var perByte [2]float64
	for i, size := range []int{64 << 10, 4 << 20} {
		chunks := pieces(prose(size))
		d, _ := timed(func() { stream(chunks) })
		perByte[i] = d.Seconds() / float64(size)
	}
	return []Result{{Name: "parse/growth", Value: perByte[1] / perByte[0],
		Unit: "× time per byte, 4 MiB against 64 KiB"}}, nil
}
