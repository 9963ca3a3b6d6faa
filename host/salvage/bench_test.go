package salvage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/salvage"
)

// chunked cuts s into pieces of n bytes, about the size of a token for n = 4.
func chunked(s string, n int) []string {
	var out []string
	for ; len(s) > n; s = s[n:] {
		out = append(out, s[:n])
	}
	return append(out, s)
}

func prose(size int) string {
	const p = "A bulkhead is the wall that keeps one flooded compartment from sinking the ship (1874), and its use " +
		"is older than steel; carpenters knew it. "
	return strings.Repeat(p, size/len(p)+1)[:size]
}

func code(size int) string {
	const c = "func (m map[string][]int) at(i int) { if m[key][i] < 3 && x[i] > y { return []byte{0, 1, '{'} } }\n"
	return "The code:\n\n" + strings.Repeat(c, size/len(c)+1)[:size]
}

func longCall(size int) string {
	const line = `if x[i] < 3 { fmt.Println(\"done\", y) }\n\t`
	return `<tool_call>{"name":"write_file","arguments":{"path":"a.go","content":"` + strings.Repeat(line,
		size/len(line)+1)[:size/len(line)*len(line)] + `"}}</tool_call>`
}

func longElement(size int) string {
	const line = "if x[i] < 3 { fmt.Println(\"done\", y) } // <b>\n\t"
	return "<tool_call>\n<function=write_file>\n<parameter=content>\n" + strings.Repeat(line, size/len(line)+1) +
		"\n</parameter>\n</function>\n</tool_call>"
}

func measure(b *testing.B, text string, piece int) {
	b.Helper()
	chunks := chunked(text, piece)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p := salvage.New(salvage.Options{})
		for _, c := range chunks {
			p.Write(c)
		}
		p.Close()
	}
}

// BenchmarkProse is plain text in chunks of a token, of a network read, and whole.
func BenchmarkProse(b *testing.B) {
	for _, piece := range []int{4, 64, 4096, 1 << 20} {
		b.Run(fmt.Sprintf("chunk=%d", piece), func(b *testing.B) { measure(b, prose(1<<20), piece) })
	}
}

// BenchmarkCode is text in which every line has bytes that markers begin with.
func BenchmarkCode(b *testing.B) {
	for _, piece := range []int{4, 4096} {
		b.Run(fmt.Sprintf("chunk=%d", piece), func(b *testing.B) { measure(b, code(1<<20), piece) })
	}
}

// BenchmarkToldCall is a call whose argument is told while it comes, from text and
// natively.
func BenchmarkToldCall(b *testing.B) {
	tool := salvage.Tool{Name: "write_file", StreamArgs: true}
	for _, size := range []int{64 << 10, 200_000, 4_000_000} {
		for name, text := range map[string]string{"json": longCall(size), "elements": longElement(size)} {
			b.Run(fmt.Sprintf("%s/size=%d", name, size), func(b *testing.B) {
				chunks := chunked(text, 64)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					p := salvage.New(salvage.Options{Tools: []salvage.Tool{tool}})
					for _, c := range chunks {
						p.Write(c)
					}
					p.Close()
				}
			})
		}
		b.Run(fmt.Sprintf("native/size=%d", size), func(b *testing.B) {
			text := strings.TrimSuffix(strings.TrimPrefix(longCall(size),
				`<tool_call>{"name":"write_file","arguments":`), "}</tool_call>")
			chunks := chunked(text, 64)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				a := salvage.NewArguments(tool)
				for _, c := range chunks {
					a.Write(c)
				}
			}
		})
	}
}

// BenchmarkOneCall is one call with a long argument. The time per byte must not
// grow with the size.
func BenchmarkOneCall(b *testing.B) {
	for _, size := range []int{64 << 10, 200_000, 1 << 20, 4_000_000} {
		for _, piece := range []int{16, 4096} {
			b.Run(fmt.Sprintf("json/size=%d/chunk=%d", size, piece),
				func(b *testing.B) { measure(b, longCall(size), piece) })
		}
		b.Run(fmt.Sprintf("elements/size=%d", size), func(b *testing.B) { measure(b, longElement(size), 4096) })
	}
}
