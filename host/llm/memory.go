package llm

// Memory keeps a few flags of one model: what its endpoint turned out to refuse. What
// they mean is the adapter's to say, and never changes, since they outlive the process.
// It is safe for concurrent use.
type Memory interface {
	// Load returns what was stored, 0 for nothing.
	Load() uint32
	// Store keeps flags.
	Store(flags uint32)
}
