package loop

import (
	"context"
	"errors"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/step"
)

// fail ends the loop after an error of a step.
func (l *runner) fail(ctx context.Context, err error) packet.StopReason {
	if ctx.Err() != nil {
		return packet.StopUserCancelled
	}
	var known *llm.Error
	if !errors.As(err, &known) {
		known = llm.NewError(packet.CodeInternal, "", err)
	}
	return l.stopWith(packet.Error{Code: known.Code, Message: known.Message, Retryable: known.Retryable})
}

// classify tells a complete answer from an empty one.
func (l *runner) classify(out step.Output) packet.StopReason {
	switch {
	case l.text.Len() > 0 && out.Finish == llm.FinishLength:
		l.notice(packet.CodeCutOff, "")
		return packet.StopCompleted
	case out.Text != "" && out.Finish == llm.FinishFiltered:
		l.notice(packet.CodeCutOff, "A filter of the model's provider ended the answer here.")
		return packet.StopCompleted
	case out.Text != "":
		return packet.StopCompleted
	case out.Finish == llm.FinishFiltered:
		return l.stopWith(packet.NewError(packet.CodeRefused, ""))
	case out.Finish == llm.FinishLength && out.Reasoning != "":
		return l.stopWith(packet.NewError(packet.CodeOutOfBudget,
			"The model used up its output while it was thinking, before it wrote an answer."))
	case out.Finish == llm.FinishLength:
		return l.stopWith(packet.NewError(packet.CodeOutOfBudget, ""))
	case out.Reasoning != "":
		return l.stopWith(packet.NewError(packet.CodeEmptyAnswer,
			"The model was thinking and ended without an answer."))
	}
	return l.stopWith(packet.NewError(packet.CodeEmptyAnswer, ""))
}

func (l *runner) stopWith(e packet.Error) packet.StopReason {
	l.Emit.Emit(l.place(), l.Emit.WithModel(e))
	l.result.Error = &e
	return packet.StopError
}
