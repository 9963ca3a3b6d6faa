package toolrun

import (
	"maps"

	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

// With returns a runner that runs these tools of the loop's own too. It shares all
// else with r, the limits on parallel calls among it. A tool hides one of r of the
// same name. Their calls take no slot: they do nothing outside, or run calls that take
// slots themselves. A model that asks for a tool that does not exist is not told of
// them: they are offered where they are of use.
func (r *Runner) With(own ...tool.Tool) *Runner {
	derived := *r
	derived.byName, derived.perTool, derived.free = maps.Clone(r.byName), maps.Clone(r.perTool), map[string]bool{}
	for _, t := range own {
		spec := t.Spec()
		derived.byName[spec.Name], derived.free[spec.Name] = t, true
		delete(derived.perTool, spec.Name)
		if spec.Concurrency > 0 {
			derived.perTool[spec.Name] = make(chan struct{}, spec.Concurrency)
		}
	}
	return &derived
}

// Inside returns a runner for an agent that runs inside one of r's calls, emitting
// through emit. It shares all else with r: its calls wait for the same slots. A call that
// is held back cannot be run later there, and its packets do not say that it waits.
func (r *Runner) Inside(emit packet.Emitter) *Runner {
	derived := *r
	derived.Emit, derived.inner = emit, true
	return &derived
}

// PlaceOf returns where the block of the call stands that a reporter belongs to,
// false for a reporter that is not a runner's.
func PlaceOf(r tool.Reporter) (packet.Placement, bool) {
	report, ok := r.(*report)
	if !ok {
		return packet.Placement{}, false
	}
	return report.call.place, true
}
