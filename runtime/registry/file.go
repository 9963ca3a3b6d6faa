package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// writeModule stores a module under its hash, at once and readable by this user
// only. A file that is there and whole is kept.
func (r *Registry) writeModule(sum string, wasm []byte) error {
	path := r.path(sum)
	if old, err := os.ReadFile(path); err == nil {
		if got := sha256.Sum256(old); hex.EncodeToString(got[:]) == sum {
			return nil
		}
	}
	tmp, err := os.CreateTemp(r.dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails once it was renamed, as it should
	_, err = tmp.Write(wasm)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(r.dir)
}

// syncDir makes a rename in a folder outlast a crash.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// dropUnused deletes a module's file if no record names it. The caller holds mu.
func (r *Registry) dropUnused(sum string) error {
	if sum == "" {
		return nil
	}
	used := false
	err := r.storage.View(func(tx Tx) error {
		return tx.Scan(keyPrefix, func(_ string, value []byte) bool {
			var record Record
			// A record that cannot be read may name the file: keep it.
			used = json.Unmarshal(value, &record) != nil || record.SHA256 == sum
			return !used
		})
	})
	if err != nil || used {
		return err
	}
	if err := os.Remove(r.path(sum)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
