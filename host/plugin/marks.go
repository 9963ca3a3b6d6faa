package plugin

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// marks are the labels of what is in the kept folders. What was written keeps the labels of
// the tool that wrote it, also when that was another version, or had other grants.
type marks struct{ space Storage }

func marksKey(plugin, user string) string { return "workspace/" + plugin + "/" + url.PathEscape(user) }

// lasting are the labels that say what data is. The others say what a tool does.
var lasting = []string{capability.LabelPrivateData, capability.LabelUntrustedContent}

// of returns the labels of a folder.
func (m *marks) of(plugin, user string) ([]string, error) {
	var labels []string
	err := m.space.View(func(tx Tx) error {
		data, found := tx.Get(marksKey(plugin, user))
		if !found {
			return nil
		}
		return json.Unmarshal(data, &labels)
	})
	if err != nil {
		return nil, fmt.Errorf("read the labels of a kept folder of plugin %q: %w", plugin, err)
	}
	return labels, nil
}

// add adds labels to those of a folder.
func (m *marks) add(plugin, user string, labels []string) error {
	before, err := m.of(plugin, user)
	if err != nil {
		return err
	}
	after := slices.Clone(before)
	for _, l := range labels {
		if slices.Contains(lasting, l) && !slices.Contains(after, l) {
			after = append(after, l)
		}
	}
	if len(after) == len(before) {
		return nil
	}
	data, err := json.Marshal(after)
	if err != nil {
		return fmt.Errorf("write the labels of a kept folder: %w", err)
	}
	return m.space.Update(func(tx Tx) error { return tx.Put(marksKey(plugin, user), data) })
}

// joinLabels returns the labels of a tool and of the folder that it reads, each once, in the order
// of capability.AllLabels.
func joinLabels(labels, more []string) []string {
	var all []string
	for _, l := range capability.AllLabels() {
		if slices.Contains(labels, l) || slices.Contains(more, l) {
			all = append(all, l)
		}
	}
	return all
}
