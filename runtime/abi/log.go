package abi

import (
	"bytes"
	"slices"
	"strings"
)

const (
	// maxLogBytes is what one call may log; what is beyond is dropped.
	maxLogBytes = 1 << 20
	// maxLineBytes is the longest line; a longer one is cut into several.
	maxLineBytes = 16 << 10
	// logLineCost is what a line costs beside its bytes.
	logLineCost = 16
)

// logSink passes log lines on. Lines of an initialisation that runs ahead of any
// call wait for the call.
type logSink struct {
	out     func(level, message string)
	waiting []logLine
	spent   int
	began   bool
}

func (l logSink) clone() logSink {
	l.waiting = slices.Clone(l.waiting)
	return l
}

type logLine struct{ level, message string }

func (l *logSink) attach(out func(level, message string)) {
	l.out, l.began = out, true
	for _, line := range l.waiting {
		l.emit(line)
	}
	l.waiting = nil
}

func (l *logSink) write(level string, message []byte) {
	if l.spent >= maxLogBytes {
		return
	}
	l.spent += len(message) + logLineCost
	line := logLine{level, strings.ToValidUTF8(string(message), "\uFFFD")}
	if l.spent >= maxLogBytes {
		line = logLine{"warn", "The plugin logged more than 1 MiB; the rest is dropped."}
	}
	if !l.began {
		l.waiting = append(l.waiting, line)
		return
	}
	l.emit(line)
}

func (l *logSink) emit(line logLine) {
	if l.out != nil {
		l.out(line.level, line.message)
	}
}

// lineWriter makes log lines of a stream.
type lineWriter struct {
	sink      *logSink
	level     string
	keepFirst bool
	first     string
	part      []byte
}

func (w lineWriter) clone() lineWriter {
	w.part = slices.Clone(w.part)
	return w
}

// Write implements io.Writer. It never fails: a guest cannot do anything about it.
func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte{'\n'})
		if room := maxLineBytes - len(w.part); len(line) > room {
			line, rest, whole = p[:room], p[room:], true
		}
		w.part = append(w.part, line...)
		if whole {
			w.flush()
		}
		p = rest
	}
	return n, nil
}

func (w *lineWriter) flush() {
	if len(w.part) == 0 {
		return
	}
	if w.keepFirst && w.first == "" {
		w.first = strings.ToValidUTF8(string(w.part[:min(len(w.part), 300)]), "\uFFFD")
	}
	w.sink.write(w.level, w.part)
	w.part = w.part[:0]
}
