package plugin

import (
	"context"
	"errors"
	"net/url"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// maxKey is how many bytes a key of kv may have.
const maxKey = 512

// keyValue serves the capability kv over a key space, and keeps the labels of its values
// there.
type keyValue struct{ space Storage }

type keyArgs struct {
	Key string `json:"key"`
}

type putArgs struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type prefixArgs struct {
	Prefix string `json:"prefix"`
}

func (kv keyValue) functions() []gate.Function {
	return []gate.Function{
		gate.Typed[keyArgs]{
			Name: "kv_get", Capability: capability.KV, Handle: kv.get,
			Summary: func(a keyArgs) string { return "get " + a.Key },
		}.Function(),
		gate.Typed[putArgs]{
			Name: "kv_put", Capability: capability.KV, Handle: kv.put,
			Summary: func(a putArgs) string { return "put " + a.Key },
		}.Function(),
		gate.Typed[keyArgs]{
			Name: "kv_delete", Capability: capability.KV, Handle: kv.remove,
			Summary: func(a keyArgs) string { return "delete " + a.Key },
		}.Function(),
		gate.Typed[prefixArgs]{
			Name: "kv_list", Capability: capability.KV, Handle: kv.list,
			Summary: func(a prefixArgs) string { return "list " + a.Prefix },
		}.Function(),
	}
}

// place is the prefix of the values that this call reaches.
func place(c gate.Request) string {
	return placeOf(c.Plugin, c.User, c.Right)
}

func placeOf(plugin, user string, right capability.Right) string {
	base := "kv/" + plugin + "/"
	if p, ok := right.Params.(*capability.KVParams); ok && p.Scope == "plugin" {
		return base + "plugin/"
	}
	return base + "user/" + url.PathEscape(user) + "/"
}

func checkKey(key string) error {
	if key == "" || len(key) > maxKey {
		return gate.Errorf(gate.Invalid, "A key has 1 to %d bytes.", maxKey)
	}
	return nil
}

func (kv keyValue) get(_ context.Context, c gate.Request, a keyArgs) (any, error) {
	if err := checkKey(a.Key); err != nil {
		return nil, err
	}
	answer := struct {
		Value string `json:"value"`
		Found bool   `json:"found"`
	}{}
	err := kv.space.View(func(tx Tx) error {
		value, found := tx.Get(place(c) + a.Key)
		answer.Value, answer.Found = string(value), found
		return nil
	})
	return answer, err
}

func (kv keyValue) put(_ context.Context, c gate.Request, a putArgs) (any, error) {
	if err := checkKey(a.Key); err != nil {
		return nil, err
	}
	params, ok := c.Right.Params.(*capability.KVParams)
	if !ok {
		return nil, gate.Errorf(gate.Denied, "The right to kv is not known.")
	}
	labels, err := attached(c).carried()
	if err != nil {
		return nil, err
	}
	prefix := place(c)
	return nil, kv.space.Update(func(tx Tx) error {
		used := int64(len(a.Key) + len(a.Value))
		err := tx.Scan(prefix, func(key string, value []byte) bool {
			if key != prefix+a.Key {
				used += int64(len(key) - len(prefix) + len(value))
			}
			return true
		})
		if err != nil {
			return err
		}
		if used > params.Quota() {
			return gate.Errorf(gate.Quota, "Keys and values would have %d bytes; the quota is %d. Delete some first.", used, params.Quota())
		}
		if err := addMark(tx, placeMark(prefix), labels); err != nil {
			return err
		}
		return tx.Put(prefix+a.Key, []byte(a.Value))
	})
}

func (kv keyValue) remove(_ context.Context, c gate.Request, a keyArgs) (any, error) {
	if err := checkKey(a.Key); err != nil {
		return nil, err
	}
	prefix := place(c)
	return nil, kv.space.Update(func(tx Tx) error {
		left := false
		err := tx.Scan(prefix, func(key string, _ []byte) bool {
			left = key != prefix+a.Key
			return !left
		})
		if err == nil && !left {
			err = tx.Delete(placeMark(prefix)) // the labels of nothing
		}
		return errors.Join(err, tx.Delete(prefix+a.Key))
	})
}

func (kv keyValue) list(_ context.Context, c gate.Request, a prefixArgs) (any, error) {
	keys := []string{}
	prefix := place(c)
	err := kv.space.View(func(tx Tx) error {
		return tx.Scan(prefix+a.Prefix, func(key string, _ []byte) bool {
			keys = append(keys, key[len(prefix):])
			return true
		})
	})
	return map[string]any{"keys": keys}, err
}
