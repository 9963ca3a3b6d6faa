package hostfunc

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/gate"
)

// maxKey is how many bytes a key of kv may have.
const maxKey = 512

// kvPart serves the capability kv.
func kvPart(s Services, m *marks) part {
	kv := keyValue{s.Storage, m}
	if s.Storage == nil {
		return part{} // the gate says that the functions are not served
	}
	return part{capability: capability.KV, brings: kv.brings, forget: kv.forget, functions: []gate.Function{
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
	}}
}

// keyValue has the values of kv in a key space, and keeps their labels there.
type keyValue struct {
	space Storage
	marks *marks
}

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

// place is the prefix of the values that this call reaches.
func place(c gate.Request) string {
	return placeOf(owner{c.Plugin, c.User}, c.Right)
}

func placeOf(o owner, right capability.Right) string {
	base := "kv/" + o.plugin + "/"
	if p, ok := right.Params.(*capability.KVParams); ok && p.Scope == "plugin" {
		return base + "plugin/"
	}
	return base + "user/" + url.PathEscape(o.user) + "/"
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
			return gate.Errorf(gate.Quota,
				"Keys and values would have %d bytes; the quota is %d. Delete some first.", used, params.Quota())
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

// placeMark is where the labels of a place are.
func placeMark(place string) string { return "label/" + place }

// brings are the labels of the values that a plugin may read.
func (kv keyValue) brings(_ context.Context, o owner, right capability.Right) ([]string, error) {
	if right.Mode == capability.Deny {
		return nil, nil
	}
	return kv.marks.of(placeMark(placeOf(o, right)))
}

// forget deletes a user's values and their labels.
func (kv keyValue) forget(_ context.Context, user string) error {
	id := url.PathEscape(user)
	theirs := func(key string) bool {
		parts := strings.SplitN(strings.TrimPrefix(key, placeMark("")), "/", 5)
		return len(parts) == 5 && parts[0] == "kv" && parts[2] == "user" && parts[3] == id
	}
	return kv.space.Update(func(tx Tx) error {
		return errors.Join(deleteAll(tx, "kv/", theirs), deleteAll(tx, placeMark("kv/"), theirs))
	})
}

// deleteAll deletes the keys below a prefix that are so.
func deleteAll(tx Tx, prefix string, so func(key string) bool) error {
	var keys []string
	err := tx.Scan(prefix, func(key string, _ []byte) bool {
		if so(key) {
			keys = append(keys, key)
		}
		return true
	})
	for _, key := range keys {
		err = errors.Join(err, tx.Delete(key))
	}
	return err
}
