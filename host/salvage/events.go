package salvage

// Event is Text, Reasoning, CallStart, ArgumentDelta, Call, CallDropped, Malformed
// or Notice.
type Event interface{ event() }

// Text is the next piece of the answer: its Delta.
type Text struct{ *delta }

// Reasoning is the next piece of the model's reasoning: its Delta.
type Reasoning struct{ *delta }

// delta stands behind a pointer, so that an Event of it needs no allocation: the
// parser lends the same ones again and again.
type delta struct{ Delta string }

// Call is a complete tool call. Its name need not be one of the known tools when
// it was marked as a call: the loop answers it with the names that exist.
type Call struct {
	Name string
	// Arguments is the compact JSON text of the arguments object.
	Arguments string
	// ID is that of the CallStart that told of the call, 0 if none did.
	ID int
	// Inexact says, of a tool with Exact, that the text was not what its notation asks
	// for, so that something was mended or guessed: a quote, a bracket or a closing tag
	// was missing.
	Inexact bool
}

// CallStart tells that a marked call of a tool with StreamArgs has begun. A Call or
// a CallDropped with the same ID follows, always.
type CallStart struct {
	// ID counts from 1 within an answer.
	ID   int
	Name string
}

// ArgumentDelta is the next piece of a string argument, decoded, while its call
// comes. Joined, the pieces of a key are the argument, or the start of it where the
// rest needed repair; the arguments of the Call are the truth.
type ArgumentDelta struct {
	ID         int
	Key, Delta string
}

// CallDropped tells that what a CallStart told of is no call after all, or one that
// the model only repeated.
type CallDropped struct{ ID int }

// Malformed is markup that was meant as a call and could not be read as one. It
// is never shown; the loop tells the model.
type Malformed struct {
	// Raw is what stood in the answer, at most MaxRawBytes of it.
	Raw string
}

// MaxRawBytes bounds Malformed.Raw.
const MaxRawBytes = 2048

// Notice tells of something that the host should know and the person need not.
type Notice struct{ Code NoticeCode }

// NoticeCode says what a Notice is about.
type NoticeCode string

const (
	// NoticeLoneCloser says that reasoning was closed which nothing had opened:
	// the model's prompt opens it, and the host should remember this model as
	// ReasoningOpen.
	NoticeLoneCloser NoticeCode = "lone_closer"
	// NoticeTooLong says that a call grew beyond MaxCallBytes and became text.
	NoticeTooLong NoticeCode = "too_long"
)

func (Text) event()          {}
func (Reasoning) event()     {}
func (Call) event()          {}
func (CallStart) event()     {}
func (ArgumentDelta) event() {}
func (CallDropped) event()   {}
func (Malformed) event()     {}
func (Notice) event()        {}
