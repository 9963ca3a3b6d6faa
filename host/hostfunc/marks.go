package hostfunc

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// marks are the labels of what plugins keep: of each kept folder, and of each place of kv. What
// was written keeps the labels of the call that wrote it, also when that was another version,
// or had other grants. It is safe for concurrent use.
type marks struct{ space Storage }

// lasting are the labels that say what data is. The others say what a tool does.
var lasting = []string{capability.LabelPrivateData, capability.LabelUntrustedContent}

// of returns the labels kept under a key; there are none without a space.
func (m *marks) of(key string) (labels []string, err error) {
	if m.space == nil {
		return nil, nil
	}
	err = m.space.View(func(tx Tx) error {
		labels, err = readMark(tx, key)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the labels of what a plugin keeps: %w", err)
	}
	return labels, nil
}

func readMark(tx Tx, key string) (labels []string, err error) {
	if data, found := tx.Get(key); found {
		err = json.Unmarshal(data, &labels)
	}
	return labels, err
}

// add adds labels to those kept under a key, and returns all that are there now.
func (m *marks) add(key string, labels []string) (all []string, err error) {
	before, err := m.of(key)
	if all = Lasting(before, labels); err != nil || len(all) == len(before) {
		return all, err
	}
	return all, m.space.Update(func(tx Tx) error { return addMark(tx, key, labels) })
}

// addMark adds labels in the transaction that changes what they are of.
func addMark(tx Tx, key string, labels []string) error {
	before, err := readMark(tx, key)
	if err != nil {
		return err
	}
	after := Lasting(before, labels)
	if len(after) == len(before) {
		return nil
	}
	data, err := json.Marshal(after)
	if err != nil {
		return fmt.Errorf("write the labels of what a plugin keeps: %w", err)
	}
	return tx.Put(key, data)
}

// Lasting returns the labels of both lists that say what data is, each once. Data keeps
// them where it is stored.
func Lasting(labels, more []string) []string {
	return slices.DeleteFunc(slices.Clone(lasting), func(l string) bool {
		return !slices.Contains(labels, l) && !slices.Contains(more, l)
	})
}
