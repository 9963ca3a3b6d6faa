package plugintool

import (
	"bytes"
	"fmt"
)

// ending is how a call ended, in words that both have.
type ending struct {
	// how is ok, error, trap or exit.
	how    string
	code   uint32
	output []byte
	// text is what the guest said by error_set.
	text string
}

// differences names what differs between two endings of a call. Output counts where the call
// ended well.
func (e ending) differences(other ending, here, there string) []string {
	var list []string
	differ := func(what, a, b string) {
		list = append(list, fmt.Sprintf("%s: %s %s, %s %s", what, a, here, b, there))
	}
	switch {
	case e.how != other.how:
		differ("how it ended", e.words(), other.words())
	case e.code != other.code:
		differ("exit code", fmt.Sprint(int32(e.code)), fmt.Sprint(int32(other.code)))
	case e.text != other.text:
		differ("error", quoted([]byte(e.text)), quoted([]byte(other.text)))
	case e.how == "ok" && !bytes.Equal(e.output, other.output):
		at := 0
		for at < min(len(e.output), len(other.output)) && e.output[at] == other.output[at] {
			at++
		}
		differ(fmt.Sprintf("output from byte %d on", at), quoted(e.output[at:]), quoted(other.output[at:]))
	}
	return list
}

func (e ending) words() string {
	if e.text == "" {
		return e.how
	}
	return e.how + " " + quoted([]byte(e.text))
}

// quoted shows the begin of a text.
func quoted(text []byte) string {
	const most = 60
	if len(text) > most {
		return fmt.Sprintf("%q… (%d bytes)", text[:most], len(text))
	}
	return fmt.Sprintf("%q", text)
}
