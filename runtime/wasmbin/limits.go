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
	// Moved is the number of values that the branches and calls of one function take
	// with them. The compiler allocates for each, and two bytes of code can move 1,000.
	Moved int
	// TableEntries is the number of entries of all tables at the start, and what
	// tables may grow to. An entry takes 8 bytes of the host's memory.
	TableEntries int
	// ElementEntries is the number of entries of all element segments.
	ElementEntries int
}

// DefaultLimits returns limits that every module known to us keeps with room to
// spare (the largest, CPython, has 26 MB, 12,000 functions and 7,000 table
// entries), near those that browsers set.
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
		BodyBytes:      7_654_321,
		Locals:         50_000,
		TotalLocals:    4_000_000,
		Nesting:        50_000,
		Moved:          2_000_000,
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
	for _, n := range []*int{&l.Types, &l.Imports, &l.Functions, &l.Globals, &l.Locals, &l.Nesting} {
		*n += more
	}
	l.Exports += l.Globals + more
	l.TotalLocals += l.Functions
	l.Moved += l.Moved
	return l
}

// maxBrTable is the largest number of labels of one br_table, as in browsers. Go's
// compiler makes one with a label for each point where a function can resume.
const maxBrTable = 65_520
