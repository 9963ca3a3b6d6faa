package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

var token = Packet(packet.At(1, 0).ForModel(0), packet.MessageDelta{Content: "the next "})

// BenchmarkToken appends a token to a run that is written to a file, and to a log in
// memory alone. Each run has 1,000 tokens: in a longer one, the growth of the log is all
// that is measured.
func BenchmarkToken(b *testing.B) {
	b.Run("file", func(b *testing.B) {
		db := openFile(b, nil)
		defer closeOnce(b, db)
		l := openJournal(b, db, Options{})
		var lease *Lease
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			if n%1000 == 0 {
				b.StopTimer()
				if lease != nil {
					lease.Abandon()
				}
				lease = begin(b, l, fmt.Sprint("r_", n))
				b.StartTimer()
			}
			lease.Append(token.Place, token.Obj)
		}
	})
	b.Run("memory", func(b *testing.B) {
		var l *Log
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			if n%1000 == 0 {
				l = New("r_01JH5Z0W3V6N8Y2K4T7Q9RXBCD", 1)
			}
			l.Append(token.Place, token.Obj)
		}
	})
}

// BenchmarkTick prepares a commit of 100 runs with two tokens each.
func BenchmarkTick(b *testing.B) {
	l := openJournal(b, kv.NewMemory(nil), Options{})
	for i := range 100 {
		lease := begin(b, l, fmt.Sprintf("r_01JH5Z0W3V6N8Y2K4T7Q9RXB%02d", i))
		lease.log.tell(nil)
		lease.Record(token, token)
	}
	b.ReportAllocs()
	for b.Loop() {
		if w := l.gather(); len(w.ends) != 100 {
			b.Fatal(len(w.ends))
		}
	}
}

// BenchmarkWritten is what answers of 1,000 tokens cost on disk, live side by side. A
// wait for the disk stands in for the pause between ticks.
func BenchmarkWritten(b *testing.B) {
	for _, runs := range []int{1, 10, 100} {
		for _, tokens := range []int{1, 3} { // for each run and tick
			b.Run(fmt.Sprintf("runs=%d/tokens-per-tick=%d", runs, tokens), func(b *testing.B) {
				var written, size, answers int64
				for b.Loop() {
					w, s := writeAnswers(b, runs, tokens)
					written, size, answers = written+w, size+s, answers+int64(runs)
				}
				b.ReportMetric(float64(written)/float64(answers)/1000, "written-B/token")
				b.ReportMetric(float64(written)/float64(answers)/1024, "written-KiB/answer")
				b.ReportMetric(float64(size)/float64(answers)/1024, "file-KiB/answer")
				b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(answers), "ms/answer")
			})
		}
	}
}

func writeAnswers(b *testing.B, runs, tokens int) (written, size int64) {
	path := filepath.Join(b.TempDir(), "journal.db")
	db := openPath(b, path, nil)
	defer closeOnce(b, db)
	l := openJournal(b, db, Options{Tick: -1})
	before := bytesWritten(b)
	leases := make([]*Lease, runs)
	for i := range leases {
		run := fmt.Sprintf("r_01JH5Z0W3V6N8Y2K4T7Q9RX%03d", i)
		leases[i] = begin(b, l, run, Of(Begun{User: "u_1", Models: []string{"m"}}))
		leases[i].log.tell(nil) // the writer is woken once for each tick, below
	}
	for range 1000 / tokens {
		for _, lease := range leases {
			for range tokens {
				lease.Append(token.Place, token.Obj)
			}
		}
		if err := leases[runs-1].Record().Durable(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	text := strings.Repeat("the next ", 1000)
	for _, lease := range leases {
		seal(b, lease, false, Of(Step{Text: text}), Of(Outcome{Reason: "completed"}), Of(End{Reason: "completed"}))
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	file, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return bytesWritten(b) - before, file.Size()
}

// bytesWritten is what this process has caused to be written to disks, after
// /proc/self/io: whole pages, as they became dirty.
func bytesWritten(b *testing.B) (n int64) {
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, err := fmt.Sscanf(line, "write_bytes: %d", &n); err == nil {
			return n
		}
	}
	b.Skip("no write_bytes")
	return 0
}

// BenchmarkReadSealed opens a stored answer of 1,000 tokens, and folds it.
func BenchmarkReadSealed(b *testing.B) {
	db := openFile(b, nil)
	defer closeOnce(b, db)
	l := openJournal(b, db, Options{})
	lease := begin(b, l, "r_1", Of(Begun{User: "u_1", Models: []string{"m"}}))
	for range 1000 {
		lease.Append(token.Place, token.Obj)
	}
	seal(b, lease, false, Of(Step{Text: strings.Repeat("the next ", 1000)}), Of(Outcome{Reason: "completed"}))
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := l.Open(b.Context(), "r_1"); err != nil {
				b.Fatal(err)
			}
		}
	})
	log, err := l.Open(b.Context(), "r_1")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("fold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if a := Answers(log.Records(), 1); len(a[0].Text) != 9000 {
				b.Fatal(len(a[0].Text))
			}
		}
	})
	b.Run("seal", func(b *testing.B) {
		live := lease.Log()
		b.ReportAllocs()
		for b.Loop() {
			records, _ := live.freeze()
			kept, _ := compact(records)
			New("r_1", 2).add(kept...)
		}
	})
}
