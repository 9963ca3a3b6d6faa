package meter

// nest maps the frames of the original body to those of the copy, which has more: a
// loop with a check stands in another loop, and a body whose entry has one in a loop
// and a block.
type nest struct {
	// at has, for each open frame of the original, the depth of its label in the copy,
	// opened how many frames of the copy it is.
	at, opened []int
	depth      int
}

// reset opens the function's own frame.
func (n *nest) reset() {
	n.at, n.opened, n.depth = append(n.at[:0], 0), append(n.opened[:0], 0), 0
}

// enter opens a frame of the original; the innermost of its frames in the copy has its
// label.
func (n *nest) enter(frames int) {
	n.depth += frames
	n.at, n.opened = append(n.at, n.depth), append(n.opened, frames)
}

// leave closes the innermost frame of the original and returns how many frames of the
// copy end with it. outermost says that it was the function's.
func (n *nest) leave() (frames int, outermost bool) {
	last := len(n.at) - 1
	frames = n.opened[last]
	n.at, n.opened = n.at[:last], n.opened[:last]
	n.depth -= frames
	return frames, last == 0
}

// wrap opens frames of the copy that are around all the code of the function's own
// frame, and that are closed by hand.
func (n *nest) wrap(frames int) { n.depth += frames }

// label returns the label of the copy that leads where a label of the original does.
func (n *nest) label(label uint32) uint32 {
	return uint32(n.depth - n.at[len(n.at)-1-int(label)])
}
