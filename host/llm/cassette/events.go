package cassette

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm"
)

// Describe writes a stream as text, one line for each event and one for the error
// that ended it. address is what stands as ENDPOINT in the text.
func Describe(stream iter.Seq2[llm.Event, error], address string) string {
	var b strings.Builder
	for ev, err := range stream {
		if err != nil {
			b.WriteString(describeError(err) + "\n")
			continue
		}
		b.WriteString(describeEvent(ev) + "\n")
	}
	return strings.ReplaceAll(b.String(), address, "ENDPOINT")
}

func describeEvent(ev llm.Event) string {
	switch e := ev.(type) {
	case llm.Text:
		return fmt.Sprintf("text %q", e.Delta)
	case llm.Reasoning:
		return fmt.Sprintf("reasoning %q", e.Delta)
	case llm.Refusal:
		return fmt.Sprintf("refusal %q", e.Delta)
	case llm.ToolCallDelta:
		if e.ID != "" || e.Name != "" {
			return fmt.Sprintf("call %d id=%s name=%s %q", e.Index, e.ID, e.Name, e.ArgumentsDelta)
		}
		return fmt.Sprintf("call %d %q", e.Index, e.ArgumentsDelta)
	case llm.ServerTool:
		return fmt.Sprintf("server tool %s %q failed=%v", e.Name, e.Query, e.Failed)
	case llm.Native:
		return fmt.Sprintf("native %s %s %s", e.Provider, e.Model, e.Data)
	case llm.Usage:
		line := fmt.Sprintf("usage input=%d output=%d cached=%d", e.InputTokens, e.OutputTokens, e.CachedTokens)
		if e.Cost != 0 {
			line += fmt.Sprintf(" cost=%g", e.Cost)
		}
		return line
	case llm.Finish:
		return "finish " + string(e.Reason)
	}
	return fmt.Sprintf("%T", ev)
}

func describeError(err error) string {
	var known *llm.Error
	if !errors.As(err, &known) {
		return fmt.Sprintf("error %T", err)
	}
	return fmt.Sprintf("error %s status=%d retryable=%v %q", known.Code, known.Status, known.Retryable, known.Message)
}
