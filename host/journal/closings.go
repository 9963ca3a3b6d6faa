package journal

import "github.com/bulkhead-host/bulkhead/host/packet"

// Closings are the records that a journal which broke off lacks: the packets that
// close what is open, the results of calls that have none, an outcome for each model
// without one, the stop of the run and its End. Appended in one, they end the run as
// interrupted.
func Closings(log *Log, models int) []Record {
	var packets []packet.Packet
	for r := range log.Records() {
		if r.Obj != nil {
			packets = append(packets, packet.Packet{Placement: r.Place, Obj: r.Obj})
		}
	}
	answers := Answers(log.Records(), models)
	var out []Record
	for i, a := range answers {
		out = append(out, closeAnswer(i, a)...)
	}
	reasons := make([]packet.StopReason, len(answers))
	for i, a := range answers {
		reasons[i] = a.Reason
	}
	var end *Closing
	for _, c := range Unfinished(packets, len(answers)) {
		if stop, ok := c.Obj.(packet.Stop); ok {
			m := c.Place.ModelIndex
			if m == nil {
				end = &c
				continue
			}
			if *m < len(reasons) && reasons[*m] == "" {
				reasons[*m] = stop.Reason
			} else if *m < len(reasons) { // its outcome says why
				c.Obj = packet.Stop{Reason: reasons[*m]}
			}
		}
		out = append(out, Packet(c.Place, c.Obj))
	}
	for i, a := range answers {
		if !a.ended {
			out = append(out, Of(Outcome{
				Model: i, Reason: string(reasons[i]), Citations: a.Citations, Error: a.Error, Labels: a.Labels,
			}))
		}
	}
	if _, ended := First[End](log); ended {
		return out
	}
	reason := packet.RunReason(reasons)
	if end != nil {
		out = append(out, Packet(end.Place, packet.Stop{Reason: reason}))
	} else if stop, ok := packets[len(packets)-1].Obj.(packet.Stop); ok { // the run's stop stands there
		reason = stop.Reason
	}
	return append(out, Of(End{Reason: string(reason)}))
}

// closeAnswer are the facts that a broken answer lacks: its partial step and the
// results of its calls.
func closeAnswer(model int, a Answer) (out []Record) {
	for _, s := range a.Steps {
		if s.open {
			step := s.Step
			step.Model = model
			out = append(out, Of(step))
		}
		for _, r := range s.Results {
			if r.Lost {
				done := r.CallDone
				done.Model = model
				out = append(out, Of(done))
			}
		}
	}
	return out
}
