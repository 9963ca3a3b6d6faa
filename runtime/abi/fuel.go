package abi

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-host/bulkhead/runtime/meter"
)

// ErrFuel ends a call that has spent its fuel.
var ErrFuel = errors.New("cpu budget spent")

// fuelSlice is what a guest gets at once. After each slice the host looks whether the
// call is to end, and lets other goroutines run: Go's scheduler cannot interrupt code of a
// guest, and would let each of many guests run for 10 ms before its turn ends. A slice of
// the fastest instructions takes some 0.5 ms; with a tenth of it the looking alone made the
// tightest loop 1.4 times as slow.
const fuelSlice = 1_000_000

// fuel is the account of one instance. The guest counts down its own cell and asks when
// the cell is below 0; what was granted less what is in the cell was spent.
type fuel struct {
	cell    api.MutableGlobal // nil until the instance is there
	granted int64
	// base is what was spent before the account was opened, budget what may be spent
	// since, seen what was spent when the guest asked last.
	base, budget, seen int64
}

// LinkMeter adds to rt the import that a module with fuel has.
func LinkMeter(ctx context.Context, rt wazero.Runtime) error {
	one := []api.ValueType{i64}
	_, err := rt.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
			stack[0] = uint64(stateOf(ctx).refill(int64(stack[0])))
		}), one, one).Export(meter.Refill).Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("link %s: %w", meter.Module, err)
	}
	return nil
}

// refill returns what is to be added to a cell that is below 0. It ends a call that was
// stopped, and one whose budget is spent.
func (s *State) refill(cell int64) int64 {
	f := &s.fuel
	if f.granted != f.base { // the first slice is asked for at once
		runtime.Gosched()
		s.watch()
	}
	s.checkStopped()
	f.seen = f.granted - cell
	left := f.base + f.budget - f.seen
	if left < 0 {
		panic(ErrFuel)
	}
	n := min(fuelSlice, left) - cell
	f.granted += n
	return n
}

// Attach gives the state the instance that it is the state of.
func (s *State) Attach(guest api.Module) error {
	cell, ok := guest.ExportedGlobal(meter.Fuel).(api.MutableGlobal)
	if !ok {
		return errors.New("attach an instance: it has no fuel")
	}
	s.fuel.cell = cell
	return nil
}

// OpenAccount makes the fuel that the instance spends from now on the call's own, within
// a budget. What its initialisation spent is not part of it, whether that was done ahead
// of the call or within it. The instance is attached.
func (s *State) OpenAccount(budget int64) {
	f := &s.fuel
	spent := f.granted - int64(f.cell.Get())
	f.granted, f.base, f.seen, f.budget = spent, spent, spent, budget
	f.cell.Set(0)
}

// Fuel returns what was spent since the account was opened, or else since the state was
// made. It must not be called after the instance was closed.
func (s *State) Fuel() int64 {
	f := &s.fuel
	if f.cell == nil {
		return f.seen - f.base
	}
	return f.granted - int64(f.cell.Get()) - f.base
}
