package packet

// Sink takes the packets of one run. journal.Log is the one that runs use.
type Sink interface {
	// Append stamps run, epoch and seq and makes the packet visible to readers.
	// It is safe for concurrent use and never blocks on a reader.
	Append(place Placement, obj Obj)
}

// Emitter adds packets to a run for one model. Whoever holds one can emit: the
// step, the runner, a plugin deep inside a tool. It is a small value to pass by
// copy, and safe for concurrent use. The zero Emitter discards.
type Emitter struct {
	sink  Sink
	model *int
}

// NewEmitter returns an emitter that stamps model on what it emits.
func NewEmitter(sink Sink, model int) Emitter { return Emitter{sink: sink, model: &model} }

// RunEmitter returns an emitter for packets that belong to no model.
func RunEmitter(sink Sink) Emitter { return Emitter{sink: sink} }

// Emit appends obj at place, with the emitter's model in it.
func (e Emitter) Emit(place Placement, obj Obj) {
	if e.sink == nil {
		return
	}
	place.ModelIndex = e.model
	e.sink.Append(place, obj)
}

// WithModel returns err with the emitter's model in it.
func (e Emitter) WithModel(err Error) Error {
	err.ModelIndex = e.model
	return err
}
