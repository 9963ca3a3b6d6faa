package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// CookieLifetime is how long a signed-in browser stays signed in.
const CookieLifetime = 30 * 24 * time.Hour

var (
	// ErrBadLink is returned when a sign-in link is unknown or was used already.
	ErrBadLink = errors.New("this sign-in link is not valid or was already used")
	// ErrExpired is returned when a sign-in link or a cookie is too old.
	ErrExpired = errors.New("it has expired")
)

// CreateLink makes a one-time sign-in token for the user, valid for ttl. It is for
// operators and the host, since whoever has the token is that user.
func (s SignIns) CreateLink(
	ctx context.Context, p identity.Principal, userID string, ttl time.Duration,
) (token string, expires time.Time, err error) {
	if err := may(p, identity.LinkUser, userResource(userID)); err != nil {
		return "", time.Time{}, err
	}
	token, expires = newSecret(), s.clock().Add(ttl)
	err = s.update(ctx, func(tx kv.Tx) error {
		if _, err := userByID(tx, userID); err != nil {
			return err
		}
		now := s.clock()
		if err := deleteCredentials(tx, func(c credential) bool { return !now.Before(c.ExpiresAt) }); err != nil {
			return err
		}
		return table.Links.Put(tx, digest(token), credential{User: userID, ExpiresAt: expires})
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return token, expires, nil
}

// RedeemLink exchanges a token for a cookie, once. It returns ErrBadLink and
// ErrExpired.
func (s SignIns) RedeemLink(ctx context.Context, token string) (cookie string, user User, err error) {
	cookie = newSecret()
	err = s.update(ctx, func(tx kv.Tx) error {
		link, err := table.Get[credential](tx, table.Links, digest(token))
		if err == ErrNotFound {
			return ErrBadLink
		}
		if err != nil {
			return err
		}
		if !s.clock().Before(link.ExpiresAt) {
			return ErrExpired
		}
		if user, err = userByID(tx, link.User); err != nil {
			return err
		}
		if err := may(user.Principal(identity.Link), identity.RedeemLink, user.resource()); err != nil {
			return err
		}
		if err := table.Links.Delete(tx, digest(token)); err != nil {
			return err
		}
		return table.Cookies.Put(tx, digest(cookie),
			credential{User: user.ID, ExpiresAt: s.clock().Add(CookieLifetime)})
	})
	if err != nil {
		return "", User{}, err
	}
	return cookie, user, nil
}

// UserByCookie returns who signed in with the cookie. It returns ErrNotFound
// for an unknown or revoked one and ErrExpired.
func (s SignIns) UserByCookie(ctx context.Context, cookie string) (User, error) {
	var user User
	err := s.view(ctx, func(tx kv.Tx) error {
		c, err := table.Get[credential](tx, table.Cookies, digest(cookie))
		if err != nil {
			return err
		}
		if !s.clock().Before(c.ExpiresAt) {
			return ErrExpired
		}
		user, err = userByID(tx, c.User)
		return err
	})
	return user, err
}

// RevokeCookie signs the principal's cookie out. An unknown one is no error; another
// user's is ErrNotFound.
func (s SignIns) RevokeCookie(ctx context.Context, p identity.Principal, cookie string) error {
	return s.update(ctx, func(tx kv.Tx) error {
		c, err := table.Get[credential](tx, table.Cookies, digest(cookie))
		if err == nil {
			err = may(p, identity.SignOut, userResource(c.User))
		}
		if err == ErrNotFound {
			return nil
		}
		var bad *RecordError
		if err != nil && !errors.As(err, &bad) { // one that cannot be read lets nobody in
			return err
		}
		return table.Cookies.Delete(tx, digest(cookie))
	})
}

// RevokeUser makes every link and cookie of the user invalid, for themselves or an
// operator.
func (s SignIns) RevokeUser(ctx context.Context, p identity.Principal, user string) error {
	if err := may(p, identity.RevokeUser, userResource(user)); err != nil {
		return err
	}
	return s.update(ctx, func(tx kv.Tx) error {
		return deleteCredentials(tx, func(c credential) bool { return c.User == user })
	})
}

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
