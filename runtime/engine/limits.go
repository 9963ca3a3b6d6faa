package engine

import "time"

// Limits bounds a module and each of its calls. A field that is zero or negative
// means that of DefaultLimits.
type Limits struct {
	// MemoryMiB bounds an instance's linear memory and the call's kernel memory
	// together, in MiB; at most 4096.
	MemoryMiB int
	// Timeout is the wall time of a call, waiting for a place included.
	Timeout time.Duration
	// Fuel is what a call may spend, in instructions; the module's initialisation has
	// the same for itself.
	Fuel int64
	// OutputBytes is the largest output.
	OutputBytes int64
	// Concurrency is the number of calls of a module that run at once; more wait.
	// It has no meaning for one call.
	Concurrency int
	// Fresh gives each call an instance that was made for it, also where one could be
	// reset. It has no meaning for one call.
	Fresh bool
	// Files gives the module the functions of WASI that open and change files. Each of
	// its calls gets an instance of its own, and the files that the call mounts. A
	// module that exports _start and no tools has them anyway. It has no meaning for
	// one call.
	Files bool
}

// DefaultLimits returns the limits of a module that names none.
func DefaultLimits() Limits {
	return Limits{MemoryMiB: 64, Timeout: 60 * time.Second, Fuel: 20_000_000_000, OutputBytes: 1 << 20, Concurrency: 4}
}

const maxMemoryMiB = 4096

// or returns l with fallback's values where l has none.
func (l Limits) or(fallback Limits) Limits {
	if l.MemoryMiB <= 0 {
		l.MemoryMiB = fallback.MemoryMiB
	}
	if l.Timeout <= 0 {
		l.Timeout = fallback.Timeout
	}
	if l.Fuel <= 0 {
		l.Fuel = fallback.Fuel
	}
	if l.OutputBytes <= 0 {
		l.OutputBytes = fallback.OutputBytes
	}
	if l.Concurrency <= 0 {
		l.Concurrency = fallback.Concurrency
	}
	l.MemoryMiB = min(l.MemoryMiB, maxMemoryMiB)
	return l
}

// within returns the smaller of each of l's and other's limits; what other does not
// name is l's.
func (l Limits) within(other Limits) Limits {
	other = other.or(l)
	return Limits{
		MemoryMiB:   min(l.MemoryMiB, other.MemoryMiB),
		Timeout:     min(l.Timeout, other.Timeout),
		Fuel:        min(l.Fuel, other.Fuel),
		OutputBytes: min(l.OutputBytes, other.OutputBytes),
		Concurrency: min(l.Concurrency, other.Concurrency),
		Fresh:       l.Fresh,
		Files:       l.Files,
	}
}

func (l Limits) memoryBytes() uint64 { return uint64(l.MemoryMiB) << 20 }
