package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		os.Exit(writeUntilKilled(path))
	}
	goleak.VerifyTestMain(m)
}

func delta(i int) packet.Obj { return packet.MessageDelta{Content: fmt.Sprint(i)} }

// readAll reads from a cursor to the end and checks that every packet comes
// once, in order.
func readAll(ctx context.Context, l *Log, after int64) (int, error) {
	n := 0
	for {
		entries, err := l.Read(ctx, after)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		for _, e := range entries {
			if e.Seq != after+1 || e.Packet.Seq != e.Seq {
				return n, fmt.Errorf("got seq %d (packet %d) after %d", e.Seq, e.Packet.Seq, after)
			}
			after = e.Seq
			n++
		}
	}
}

func TestEveryReaderGetsEveryPacketOnce(t *testing.T) {
	const writers, each, readers = 4, 500, 50
	l := New("r_1", 1)
	var reading, writing sync.WaitGroup
	random := rand.New(rand.NewPCG(1, 2))
	for range readers {
		after := random.Int64N(writers * each)
		reading.Go(func() {
			n, err := readAll(t.Context(), l, after)
			if want := writers*each - int(after); err != nil || n != want {
				t.Errorf("a reader after %d got %d packets and %v, want %d", after, n, err, want)
			}
		})
	}
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				l.Append(packet.At(i, w), delta(i))
			}
		})
	}
	writing.Wait()
	l.Close()
	reading.Wait()
	if l.Last() != writers*each {
		t.Errorf("the log holds %d packets, want %d", l.Last(), writers*each)
	}
}

// TestEachWritersOrderIsKept holds that what one writer appends stays in its
// order among what others append.
func TestEachWritersOrderIsKept(t *testing.T) {
	const writers, each = 4, 200
	l := New("r_1", 1)
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				l.Append(packet.At(i, w), delta(i))
			}
		})
	}
	writing.Wait()
	entries, err := l.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	next := map[int]int{}
	for _, e := range entries {
		w, i := e.Packet.Placement.TabIndex, e.Packet.Placement.TurnIndex
		if i != next[w] {
			t.Fatalf("writer %d: packet %d came when %d was next", w, i, next[w])
		}
		next[w]++
	}
}

func TestAnySequenceOfReadsIsTheLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := New("r_1", 3)
		var after int64
		total := rapid.IntRange(1, 60).Draw(t, "packets")
		for i := range total {
			l.Append(packet.At(0, 0), delta(i))
			if rapid.Bool().Draw(t, "read now") {
				entries, err := l.Read(context.Background(), after)
				if err != nil {
					t.Fatal(err)
				}
				after += int64(len(entries))
				if after != int64(i)+1 {
					t.Fatalf("read up to %d after %d appends", after, i+1)
				}
			}
		}
		l.Close()
		n, err := readAll(context.Background(), l, after)
		if err != nil || int64(n)+after != int64(total) {
			t.Fatalf("%d packets were left after %d, of %d (%v)", n, after, total, err)
		}
	})
}

func TestEntryCarriesItsJSON(t *testing.T) {
	l := New("r_1", 2)
	l.Append(packet.At(1, 0).ForModel(0), delta(7))
	entries, err := l.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(entries[0].Packet)
	if err != nil {
		t.Fatal(err)
	}
	if string(entries[0].JSON) != string(want) {
		t.Fatalf("the entry has %s, its packet is %s", entries[0].JSON, want)
	}
	var read packet.Packet
	err = json.Unmarshal(entries[0].JSON, &read)
	if err != nil || read.Run != l.Run() || read.Epoch != l.Epoch() || read.Obj != delta(7) {
		t.Fatalf("the JSON reads as %+v (%v)", read, err)
	}
}

func TestCloseWakesEveryWaitingReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New("r_1", 1)
		l.Append(packet.At(0, 0), delta(0))
		ended := make(chan error, 20)
		for range cap(ended) {
			go func() {
				_, err := l.Read(t.Context(), 1)
				ended <- err
			}()
		}
		synctest.Wait() // all of them wait now
		if len(ended) != 0 {
			t.Fatalf("%d readers did not wait", len(ended))
		}
		l.Close()
		for range cap(ended) {
			if err := <-ended; !errors.Is(err, io.EOF) {
				t.Errorf("a reader ended with %v, want io.EOF", err)
			}
		}
	})
}

func TestCancelledReaderLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New("r_1", 1)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() {
			_, err := l.Read(ctx, 0)
			ended <- err
		}()
		go func() {
			n, err := readAll(t.Context(), l, 0)
			if n != 1 {
				err = errors.Join(err, fmt.Errorf("%d packets, want 1", n))
			}
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled reader ended with %v", err)
		}
		l.Append(packet.At(0, 0), delta(0))
		l.Close()
		if err := <-ended; err != nil {
			t.Errorf("the other reader: %v", err)
		}
	})
}

// TestCancelledReaderStillGetsWhatIsThere: a done context ends waiting, and
// there is nothing to wait for.
func TestCancelledReaderStillGetsWhatIsThere(t *testing.T) {
	l := New("r_1", 1)
	l.Append(packet.At(0, 0), delta(0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if entries, err := l.Read(ctx, 0); err != nil || len(entries) != 1 {
		t.Errorf("got %d entries and %v", len(entries), err)
	}
	if _, err := l.Read(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting ended with %v", err)
	}
}

func TestAppendAfterCloseIsDropped(t *testing.T) {
	l := New("r_1", 1)
	l.Append(packet.At(0, 0), delta(0))
	l.Close()
	l.Close() // twice is fine
	l.Append(packet.At(0, 0), delta(1))
	if !l.Closed() || l.Last() != 1 {
		t.Errorf("closed %v with %d packets, want 1", l.Closed(), l.Last())
	}
}

func TestReaderCannotGrowTheLog(t *testing.T) {
	l := New("r_1", 1)
	l.Append(packet.At(0, 0), delta(0))
	entries, err := l.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(entries, Entry{Seq: 99})
	l.Append(packet.At(0, 0), delta(1))
	second, err := l.Read(t.Context(), 1)
	if err != nil || second[0].Seq != 2 {
		t.Fatalf("the second entry is %+v (%v)", second[0], err)
	}
}

func TestCursorBelowZeroReadsFromTheStart(t *testing.T) {
	l := New("r_1", 1)
	l.Append(packet.At(0, 0), delta(0))
	if entries, err := l.Read(t.Context(), -5); err != nil || len(entries) != 1 {
		t.Errorf("got %d entries and %v", len(entries), err)
	}
}

func TestUnencodablePayloadKeepsTheNumbering(t *testing.T) {
	l := New("r_1", 1)
	l.Append(packet.At(0, 0), delta(0))
	l.Append(packet.At(0, 0), packet.ToolArgs{CallID: "c", Arguments: json.RawMessage(`{"cut`)})
	l.Append(packet.At(0, 0), nil)
	l.Append(packet.At(0, 0), delta(1))
	entries, err := l.Read(t.Context(), 0)
	if err != nil || len(entries) != 4 {
		t.Fatalf("got %d entries and %v, want 4", len(entries), err)
	}
	for _, i := range []int{1, 2} {
		n, ok := entries[i].Packet.Obj.(packet.Notice)
		if !ok || n.Code != packet.CodeInternal || !json.Valid(entries[i].JSON) {
			t.Errorf("entry %d is %s", i, entries[i].JSON)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, readers := range []int{0, 1, 100} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			l := New("r_01JH5Z0W3V6N8Y2K4T7Q9RXBCD", 1)
			var reading sync.WaitGroup
			for range readers {
				reading.Go(func() {
					if _, err := readAll(b.Context(), l, 0); err != nil && !errors.Is(err, context.Canceled) {
						b.Error(err)
					}
				})
			}
			place := packet.At(1, 0).ForModel(0)
			obj := packet.MessageDelta{Content: "the next "}
			b.ReportAllocs()
			for b.Loop() {
				l.Append(place, obj)
			}
			b.StopTimer()
			l.Close()
			reading.Wait()
		})
	}
}
