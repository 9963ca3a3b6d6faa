package plugin

import (
	"context"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// brought are the labels of what a plugin finds for a user that was kept: in its folder, in
// its values of kv, and in memories, as far as it may read each.
func (m *Manager) brought(ctx context.Context, p *installed, rights capability.Rights, user string) ([]string, error) {
	var all []string
	add := func(labels []string, err error) error {
		all = append(all, labels...)
		return err
	}
	right := rights.Of(capability.Workspace)
	if params, ok := right.Params.(*capability.WorkspaceParams); ok && right.Mode == capability.Allow && params.Persistent {
		if err := add(m.marks.of(folderMark(p.record.Name, user))); err != nil {
			return nil, err
		}
	}
	if right := rights.Of(capability.KV); right.Mode != capability.Deny {
		if err := add(m.marks.of(placeMark(placeOf(p.record.Name, user, right)))); err != nil {
			return nil, err
		}
	}
	right = rights.Of(capability.Memory)
	if params, ok := right.Params.(*capability.MemoryParams); ok && right.Mode != capability.Deny && params.Can("read") && m.config.Memories != nil {
		// A record that cannot be read is no text that a plugin could read.
		memories, _ := m.config.Memories.Memories(ctx, identity.ForUser(user, "see what a tool may carry out"))
		for _, one := range memories {
			all = append(all, one.Labels...)
		}
	}
	return all, nil
}

// carries returns the labels of what a call of a tool may store at this moment: those that the
// tool had when the turn began and those that grants and what was kept give it now, and what
// the path to the call has met. What the tool is told can come from any of these.
func (t *guestTool) carries(ctx context.Context, p *installed, user string, met []string) ([]string, error) {
	rights, err := t.manager.gate.Rights(ctx, p.manifest, user)
	if err != nil {
		return nil, err
	}
	brought, err := t.manager.brought(ctx, p, rights, user)
	if err != nil {
		return nil, err
	}
	now := capability.ToolLabels(p.manifest.Tool(t.name), rights, t.manager.around())
	return lastingOf(append(now, met...), append(brought, t.spec.Labels...)), nil
}
