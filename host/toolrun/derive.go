package toolrun

import (
	"maps"
	"slices"

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

// After returns a runner whose calls are told what the path to them has met: private_data,
// untrusted_content. met is asked once in each Run, before a call begins. The derived runner
// shares all else with r.
func (r *Runner) After(met func() []string) *Runner {
	derived := *r
	derived.met = met
	return &derived
}

// tellMet tells each call what was met before them all, and what those beside it touch.
func (r *Runner) tellMet(calls []*call) {
	var before []string
	if r.met != nil {
		before = r.met()
	}
	for _, label := range []string{tool.LabelPrivateData, tool.LabelUntrustedContent} {
		touch := 0
		for _, c := range calls {
			if hasLabel(c.spec, label) {
				touch++
			}
		}
		for _, c := range calls {
			beside := touch > 1 || touch == 1 && !hasLabel(c.spec, label)
			if beside || slices.Contains(before, label) {
				c.met = append(c.met, label)
			}
		}
	}
}

// Inside returns a runner for an agent that runs inside one of r's calls, emitting
// through emit. It shares all else with r: its calls wait for the same slots. A call that
// is held back cannot be run later there, and its packets do not say that it waits.
// call is the id of r's call.
func (r *Runner) Inside(call string, emit packet.Emitter) *Runner {
	derived := *r
	derived.config.Emit, derived.inner = emit, call
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
