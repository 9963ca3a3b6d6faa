//go:build !race

package engine

// underRace says that the race detector is on, with which compiling takes 20 times as
// long.
const underRace = false
