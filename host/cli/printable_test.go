package cli

import (
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

const (
	command = "\x1b]0;title\x07 \x1b[2J \u009b31m a\rb\x00\x7f\ttab\r\nline"
	shown   = "\uFFFD]0;title\uFFFD \uFFFD[2J \uFFFD31m ab\uFFFD\uFFFD\ttab\nline"
)

func TestNothingPrintableCommandsATerminal(t *testing.T) {
	if got := Printable(command); got != shown {
		t.Errorf("got %q, want %q", got, shown)
	}
	for _, plain := range []string{"", "Grüße, 漢字 \u202b עברית", "a\n\tb"} {
		if got := Printable(plain); got != plain {
			t.Errorf("got %q, want %q", got, plain)
		}
	}
}

func TestTheTranscriptCommandsNoTerminal(t *testing.T) {
	var out, errs strings.Builder
	show := newTranscript(Options{Out: &out, Err: &errs})
	at := packet.At(0, 0).ForModel(0)
	for _, obj := range []packet.Obj{
		packet.ToolStart{CallID: "c", Tool: command}, packet.ToolArgs{CallID: "c", Arguments: []byte("{}")},
		packet.ToolError{CallID: "c", Message: command}, packet.SectionEnd{Outcome: packet.OutcomeError},
		packet.Notice{Message: command}, packet.MessageStart{}, packet.MessageDelta{Content: command},
		packet.MessageEnd{},
	} {
		show.add(packet.Packet{Placement: at, Obj: obj}, nil)
	}
	if out.String() != shown+"\n" {
		t.Errorf("the answer reads %q", out.String())
	}
	if strings.ContainsAny(errs.String(), "\x1b\x07\u009b\r") {
		t.Errorf("the lines about it read %q", errs.String())
	}
}
