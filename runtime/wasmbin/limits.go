package wasmbin

// Limits bounds what a module may declare. The compiler allocates for each of
// these things before it looks at any of them, some of them without looking at
// the module's length; so they are counted first.
type Limits struct {
	// ModuleBytes is the size of the whole file.
	ModuleBytes int
	// The numbers of entries in each section.
	Types, Imports, Functions, Tables, Globals, Exports, Elements, DataSegments, CustomSections int
	// Params is the number of parameters plus results of one type.
	Params int
	// BodyBytes is the size of one function's code.
	BodyBytes int
	// Locals is the number of locals of one function, and TotalLocals of all. A
	// module of 30 bytes can declare 2³²−1 of them.
	Locals, TotalLocals int
	// Nesting is how deep the blocks of one function nest.
	Nesting int
	// Moved is the number of labels and of values that the branches and calls of one
	// function name or take with them. The compiler allocates for each, and two bytes of
	// code can move 1,000.
	Moved int
	// Merges is the number of blocks of one function, a loop counted ten times, times
	// the number of its locals, and TotalMerges that of all. The compiler asks at each
	// block which value each local has there: 27 KB of code with 1,000 nested loops and
	// 1,000 locals took a minute and 1.2 GB.
	Merges, TotalMerges int
	// Blocks is the number of blocks of one function as the compiler makes them: 1 for a
	// block, a br_if and each label of a br_table, 3 for an if and an operation on a range
	// (9 for one that fills), 24 for a loop, whose copy with fuel has eight, in places where
	// each costs three times as much. Pairs is
	// the sum over all functions of half the square of that. To find the loops the
	// compiler goes from each block back to the function's beginning: 1 MB of ifs, one
	// after the other, took it a quarter of an hour.
	Blocks int
	Pairs  int64
	// TableEntries is the number of entries of all tables at the start, and what
	// tables may grow to. An entry takes 8 bytes of the host's memory.
	TableEntries int
	// ElementEntries is the number of entries of all element segments.
	ElementEntries int
}

// DefaultLimits returns limits that every module known to us keeps with room to
// spare. The largest, CPython, has 26 MB, 12,000 functions and 7,000 table entries. In
// Go, Rust, C, Zig and Haskell modules of up to 9 MB the longest body has 80 KB, blocks
// nest 2,400 deep (Go's and Haskell's compilers make one for each point where a function
// can resume), a br_table has 4,096 labels, a function has 813 locals, moves 12,000
// values and has 57,000 merges (1.4 million in all). PHP has the function with the most
// blocks, 23,000, and FFmpeg the most pairs, 1.4 thousand million; Go's esbuild has 14,000
// and 600 million. The numbers of entries are near those that browsers set.
func DefaultLimits() Limits {
	return Limits{
		ModuleBytes:    64 << 20,
		Types:          20_000,
		Imports:        2_000,
		Functions:      200_000,
		Tables:         16,
		Globals:        20_000,
		Exports:        20_000,
		Elements:       50_000,
		DataSegments:   100_000,
		CustomSections: 1_000,
		Params:         1_000,
		BodyBytes:      1 << 20, // the compiler takes a thousand times that in memory
		Locals:         20_000,
		TotalLocals:    4_000_000,
		Nesting:        20_000,
		Moved:          500_000,
		Merges:         2_000_000,
		TotalMerges:    30_000_000,
		Blocks:         40_000,
		Pairs:          4_000_000_000,
		TableEntries:   1 << 20,
		ElementEntries: 1 << 20,
	}
}

// Rewritten returns the limits of a module that was within l before the host added to
// it: to each body, and a few entries to each section.
func (l Limits) Rewritten() Limits {
	const more = 8
	for _, n := range []*int{&l.ModuleBytes, &l.BodyBytes} {
		*n *= more
	}
	for _, n := range []*int{&l.Types, &l.Imports, &l.Functions, &l.Globals, &l.Locals} {
		*n += more
	}
	l.Exports += l.Globals + more
	l.TotalLocals += 2 * l.Functions
	l.Nesting = 2*l.Nesting + more // a loop gets one around it
	for _, n := range []*int{&l.Moved, &l.Merges, &l.TotalMerges, &l.Blocks} {
		*n *= more
	}
	l.Pairs *= more * more
	return l
}

// maxBrTable is the largest number of labels of one br_table, as in browsers. Go's
// compiler makes one with a label for each point where a function can resume.
const maxBrTable = 65_520
