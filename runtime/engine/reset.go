package engine

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-host/bulkhead/runtime/abi"
	"github.com/bulkhead-host/bulkhead/runtime/linear"
	"github.com/bulkhead-host/bulkhead/runtime/meter"
	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// A reset makes an instance what it was after its initialisation: memory with its size,
// mutable globals, and what the host keeps for it. What else an instance has, tables,
// segments and descriptors, no code of a resettable module can change.

// maxGlobals is the number of mutable globals that a resettable module has at most.
const maxGlobals = 4096

// resettable reports whether instances of the module can be reset.
func resettable(info *summary, limits Limits) bool {
	return !limits.Fresh && !limits.Files && settable(info.Globals) && info.Steady
}

// settable reports whether the host can set all mutable globals of a module: it knows no
// vectors, and a reference means something in its own instance only.
func settable(globals []wasmbin.Global) bool {
	mutable := 0
	for _, g := range globals {
		if !g.Mutable {
			continue
		}
		switch g.Type {
		case wasmbin.I32, wasmbin.I64, wasmbin.F32, wasmbin.F64:
			mutable++
		default:
			return false
		}
	}
	return mutable <= maxGlobals
}

// snapshot is what each instance of a module is after its initialisation. It does not
// change.
type snapshot struct {
	image   *linear.Image // nil without a memory
	globals []uint64
	initial abi.Initial
}

// errUnfit is returned when an instance used the host's memory during its
// initialisation, so that its module cannot be reset.
var errUnfit = errors.New("the initialisation used the memory of a call")

// snapshot returns what the instance is now. It is initialised and has served no call.
func (i *instance) snapshot() (*snapshot, error) {
	s := &snapshot{}
	var ok bool
	if s.initial, ok = i.state.Mark(); !ok {
		return nil, errUnfit
	}
	if err := i.findGlobals(); err != nil {
		return nil, err
	}
	for _, g := range i.globals {
		s.globals = append(s.globals, g.Get())
	}
	if memory := i.state.Linear(); memory != nil {
		var err error
		if s.image, err = memory.Image(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// findGlobals looks up the mutable globals that the rewritten module exports.
func (i *instance) findGlobals() error {
	for n, g := range i.module.info.Globals {
		if !g.Mutable {
			continue
		}
		global, ok := i.guest.ExportedGlobal(meter.GlobalPrefix + strconv.Itoa(n)).(api.MutableGlobal)
		if !ok {
			return fmt.Errorf("reset an instance: its global %d is not exported", n)
		}
		i.globals = append(i.globals, global)
	}
	return nil
}

// reset makes the instance what the snapshot says. After an error it is fit for closing
// only. No call is in it.
func (i *instance) reset(s *snapshot) error {
	if memory := i.state.Linear(); memory != nil {
		if err := memory.Restore(s.image, i.growOnce); err != nil {
			return err
		}
		if size := uint64(i.guest.Memory().Size()); size != s.image.Size() {
			return fmt.Errorf("reset an instance: its memory has %d bytes instead of %d", size, s.image.Size())
		}
	}
	for n, g := range i.globals {
		g.Set(s.globals[n])
	}
	i.state.Reset(s.initial)
	if i.export != "" {
		i.function = i.guest.ExportedFunction(i.export)
	}
	return nil
}

func (i *instance) growOnce() bool {
	_, ok := i.guest.Memory().Grow(1)
	return ok
}

// release frees the snapshot. No instance that was reset to it is left.
func (s *snapshot) release() error {
	if s == nil {
		return nil
	}
	return s.image.Release()
}
