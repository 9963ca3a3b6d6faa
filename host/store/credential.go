package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// credential is a sign-in link or a cookie. The secret itself is not stored,
// only its SHA-256, which is the record's key.
type credential struct {
	User      string    `json:"user"`
	ExpiresAt time.Time `json:"expires_at"`
}

// deleteCredentials deletes the links and cookies for which which is true, and
// those that cannot be read, which let nobody in.
func deleteCredentials(tx kv.Tx, which func(credential) bool) error {
	for _, t := range []table.Name{table.Links, table.Cookies} {
		for _, key := range t.Tails(tx, "") {
			c, err := table.Get[credential](tx, t, key)
			if err == nil && !which(c) {
				continue
			}
			if err := t.Delete(tx, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// newSecret returns 256 random bits as text for a URL.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
