package metrics

import (
	"time"

	"github.com/bulkhead-host/bulkhead/host/packet"
)

// run is what is remembered of a live run.
type run struct {
	began time.Time
	// spoke tells which models have shown text.
	spoke map[int]bool
	// tools are the open calls.
	tools map[packet.Key]call
}

// call names an open call: "none" and "other" where no plugin serves it.
type call struct{ plugin, tool string }

// Observe counts one packet of a run. Packets of a run come in order and from
// one goroutine at a time.
func (s *Set) Observe(p packet.Packet) {
	s.packets.Inc()
	r := s.runOf(p.Run)
	switch obj := p.Obj.(type) {
	case packet.MessageDelta:
		if model := index(p.Placement.ModelIndex); !r.spoke[model] {
			r.spoke[model] = true
			s.observe("first_text_seconds", s.now().Sub(r.began).Seconds())
		}
	case packet.Usage:
		s.add("model_steps_total", 1)
		s.add("model_tokens_total", obj.InputTokens, "direction", "in")
		s.add("model_tokens_total", obj.OutputTokens, "direction", "out")
	case packet.ToolStart:
		c := call{plugin: "none", tool: "other"}
		if obj.Plugin != "" { // else the model made the name up
			c = call{plugin: obj.Plugin, tool: obj.Tool}
		}
		r.tools[p.Placement.Key()] = c
	case packet.SectionEnd:
		s.ended(r, p.Placement.Key(), obj)
	case packet.Error:
		s.add("errors_total", 1, "code", string(obj.Code))
	case packet.Stop:
		if p.Placement.ModelIndex == nil {
			s.add("runs_total", 1, "reason", string(obj.Reason))
			s.observe("run_seconds", s.now().Sub(r.began).Seconds())
			s.mu.Lock()
			delete(s.runs, p.Run)
			s.mu.Unlock()
		}
	}
}

// runOf returns what is remembered of a run, which begins with its first packet.
func (s *Set) runOf(id string) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil {
		r = &run{began: s.now(), spoke: map[int]bool{}, tools: map[packet.Key]call{}}
		s.runs[id] = r
	}
	return r
}

// ended counts a tool call.
func (s *Set) ended(r *run, at packet.Key, end packet.SectionEnd) {
	c, there := r.tools[at]
	if !there {
		return
	}
	delete(r.tools, at)
	s.add("tool_calls_total", 1, "plugin", c.plugin, "tool", c.tool, "outcome", string(end.Outcome))
	s.observe("tool_call_seconds", float64(end.DurationMS)/1000, "plugin", c.plugin)
	s.add("fuel_total", end.Fuel, "plugin", c.plugin)
	for _, h := range end.HostCalls {
		s.add("host_calls_total", 1, "capability", h.Capability, "decision", h.Decision)
		s.add("host_call_bytes_total", h.Bytes, "capability", h.Capability)
	}
}

// index is the number, -1 for none.
func index(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}
