package packet

import "fmt"

// Placement says where a packet is drawn. All packets of one block share it: a
// block is one (model, turn, tab) or, inside a nested agent, one (model, turn,
// tab, sub-turn, sub-tab).
type Placement struct {
	// TurnIndex is the block's place within the answer, from 0. The loop sets it.
	TurnIndex int `json:"turn_index"`
	// TabIndex tells the parallel tool calls of one cycle apart, from 0.
	TabIndex int `json:"tab_index"`
	// SubTurnIndex is a nested agent's own turn; nil at the top.
	SubTurnIndex *int `json:"sub_turn_index"`
	// SubTabIndex is a nested agent's own tab; nil where SubTurnIndex is nil.
	SubTabIndex *int `json:"sub_tab_index"`
	// ModelIndex is the model that the packet belongs to, from 0; nil only for
	// packets that belong to no model. The Emitter sets it.
	ModelIndex *int `json:"model_index"`
}

// At is the placement of a top-level block.
func At(turn, tab int) Placement { return Placement{TurnIndex: turn, TabIndex: tab} }

// Nested returns p as the place of a block of the agent that runs inside p.
func (p Placement) Nested(turn, tab int) Placement {
	p.SubTurnIndex, p.SubTabIndex = &turn, &tab
	return p
}

// ForModel returns p with its model set.
func (p Placement) ForModel(index int) Placement {
	p.ModelIndex = &index
	return p
}

// Key identifies a block; it is comparable, which Placement with its pointers
// is not. -1 stands for null.
type Key struct{ Model, Turn, Tab, SubTurn, SubTab int }

// Key returns the block that p places.
func (p Placement) Key() Key {
	return Key{orMinus1(p.ModelIndex), p.TurnIndex, p.TabIndex, orMinus1(p.SubTurnIndex), orMinus1(p.SubTabIndex)}
}

// String writes the key as "model/turn.tab" or "model/turn.tab/subturn.subtab".
func (k Key) String() string {
	if k.SubTurn < 0 {
		return fmt.Sprintf("%d/%d.%d", k.Model, k.Turn, k.Tab)
	}
	return fmt.Sprintf("%d/%d.%d/%d.%d", k.Model, k.Turn, k.Tab, k.SubTurn, k.SubTab)
}

func orMinus1(p *int) int {
	if p == nil {
		return -1
	}
	return *p
}
