package plugin

// Act begins an operator's change of a plugin, as Configure and SetGrant do.
func (m *Manager) Act(plugin string) (over func()) { return m.current(plugin).act() }
