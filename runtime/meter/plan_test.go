package meter

import (
	"bytes"
	"slices"
	"testing"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// TestPointsOfAPlan shows where costs are paid. Costs are listed as offset, cost, and
// whether the counter is compared.
func TestPointsOfAPlan(t *testing.T) {
	const (
		end, els, ret, unreachable, nop = 0x0b, 0x05, 0x0f, 0x00, 0x01
	)
	zero, nops := []byte{0x41, 0}, bytes.Repeat([]byte{nop}, tail)
	cases := []struct {
		name string
		code []byte
		want []point
	}{
		{"straight", []byte{nop, nop, end}, []point{{at: 0, cost: 2, check: true}}},
		{"empty", []byte{end}, nil},
		{"a block belongs to the code around", []byte{nop, 0x02, 0x40, nop, end, nop, end},
			[]point{{at: 0, cost: 3, check: true}}},
		{"a loop without a branch runs once", []byte{0x03, 0x40, nop, end, nop, end},
			[]point{{at: 0, cost: 2, check: true}}},
		{"code after an if is paid before it", slices.Concat(zero, []byte{0x04, 0x40, nop, end, nop, end}),
			[]point{{at: 0, cost: 3, check: true}, {at: 4, cost: 1}}},
		{"equal parts are paid before the if", slices.Concat(zero, []byte{0x04, 0x40, nop, els, nop, end, nop, end}),
			[]point{{at: 0, cost: 4, check: true}}},
		{"what a return leaves out is given back",
			slices.Concat(zero, []byte{0x04, 0x40, ret, end, nop, nop, nop, end}),
			[]point{{at: 0, cost: 5, check: true}, {at: 4, cost: -2}}},
		{"code after a trap is paid in vain", slices.Concat(zero, []byte{0x04, 0x40, unreachable, end, nop, end}),
			[]point{{at: 0, cost: 3, check: true}, {at: 4, cost: 1}}},
		{"code after a conditional branch is paid there",
			slices.Concat([]byte{0x02, 0x40}, zero, []byte{0x0d, 0, nop, end, nop, end}),
			[]point{{at: 0, cost: 3, check: true}, {at: 6, cost: 1}}},
		{"a loop that branches on a condition is paid at its head",
			slices.Concat([]byte{0x03, 0x40, nop}, zero, []byte{0x0d, 0, end, end}),
			[]point{{at: 2, cost: 3, check: true}}},
		{"a loop that always branches is paid there",
			slices.Concat([]byte{nop, 0x03, 0x40, nop}, zero, []byte{0x04, 0x40, nop, 0x0c, 1, end, end, end}),
			[]point{{at: 0, cost: 4}, {at: 3, check: true}, {at: 8, cost: 5}}},
		{"what follows a call is paid there where much follows", slices.Concat([]byte{nop, 0x10, 0}, nops, []byte{end}),
			[]point{{at: 0, cost: 2, check: true}, {at: 3, cost: tail, look: true}}},
		{"and before it where little does", slices.Concat([]byte{nop, 0x10, 0}, nops[2:], []byte{end}),
			[]point{{at: 0, cost: tail, check: true}}},
		{"so is what follows a block with the call", slices.Concat([]byte{0x02, 0x40, 0x10, 0, end}, nops, []byte{end}),
			[]point{{at: 0, cost: 1, check: true}, {at: 4, look: true}, {at: 5, cost: tail}}},
		{"not what follows an if whose call does not come back to it",
			slices.Concat(zero, []byte{0x04, 0x40, 0x10, 0, ret, end}, nops, []byte{end}),
			[]point{{at: 0, cost: 2 + tail, check: true}, {at: 4, cost: 1 - tail}, {at: 6, cost: 1, look: true}}},
		{"dead code is not paid", []byte{ret, nop, 0x02, 0x40, nop, end, 0x03, 0x40, 0x0c, 0, end, nop, end},
			[]point{{at: 0, cost: 1, check: true}}},
	}
	for _, c := range cases {
		p := planner{tail: tail}
		if err := p.of(wasmbin.NewDecoder(nil), c.code); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []point
		for _, n := range p.points {
			got = append(got, point{at: n.at, cost: n.cost, check: n.check, look: n.look})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v; want %+v", c.name, got, c.want)
		}
	}
}
