package turn

import (
	"context"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/window"
)

// memories loads what is remembered about the person. Without them an answer is
// poorer, not wrong, so what cannot be read is logged and left out.
func (s *Service) memories(ctx context.Context, p identity.Principal) []window.Memory {
	list, err := s.cfg.Records.Memories.List(ctx, p)
	if err != nil && ctx.Err() == nil {
		s.cfg.Logger.Error("memories cannot be read", "error", err)
	}
	out := make([]window.Memory, len(list))
	for i, m := range list {
		out[i] = window.Memory{Text: m.Text, UpdatedAt: m.UpdatedAt}
	}
	return out
}

// system is the system message for a model with a window of that size.
func (s *Service) system(set setup, specs []tool.Spec, contextTokens int) string {
	prompt := window.Prompt(clock(s.cfg.Now, set.begun.UserMessage.Zone)(), set.agent.Instructions, specs)
	if set.path.attached {
		prompt += window.CitingFiles
	}
	memories, _ := window.Memories(set.memories, set.path.query, contextTokens)
	return prompt + memories
}
