package store

import (
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
)

func TestEnsureOwnerCreatesOneOperatorOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		first, created, err := s.Users().EnsureOwner(t.Context())
		if err != nil || !created || !first.Operator || first.Name != OwnerName {
			t.Fatalf("got %+v, %v, %v", first, created, err)
		}
		again, created, err := s.Users().EnsureOwner(t.Context())
		if err != nil || created || again != first {
			t.Fatalf("got %+v, %v, %v the second time", again, created, err)
		}
	})
}

func TestUserNames(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		for _, good := range []string{"ada", "Grace.Hopper-1", "żółw", "a@b", strings.Repeat("x", 64)} {
			if _, err := s.Users().Create(t.Context(), anOperator, good, false); err != nil {
				t.Errorf("%q: %v", good, err)
			}
		}
		for _, bad := range []string{"", "a b", "a/b", "a\n", strings.Repeat("x", 65), "\xff"} {
			_, err := s.Users().Create(t.Context(), anOperator, bad, false)
			expectError(t, err, ErrInvalid)
		}
		_, err := s.Users().Create(t.Context(), anOperator, "ADA", false)
		expectError(t, err, ErrExists)
		if u, err := s.Users().ByName(t.Context(), "Ada"); err != nil || u.Name != "ada" {
			t.Errorf("got %+v, %v", u, err)
		}
		expectSound(t, s)
	})
}

func TestUsersAreListedToOperatorsAndTheHost(t *testing.T) {
	s := openTest(t, Options{})
	owner, _, err := s.Users().EnsureOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ada := newUser(t, s, "ada")
	for _, p := range []identity.Principal{owner.Principal(identity.Command), identity.ForHost("a test")} {
		if users, err := s.Users().List(t.Context(), p); err != nil || len(users) != 2 {
			t.Errorf("%s sees %v, %v", p, users, err)
		}
	}
	for _, p := range []identity.Principal{ada, identity.ForUser(owner.ID, "a test")} {
		users, err := s.Users().List(t.Context(), p)
		if len(users) != 0 {
			t.Errorf("%s sees %v", p, users)
		}
		expectError(t, err, identity.ErrForbidden)
	}
}

func TestRemoveUserLeavesNothingOfThem(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		owner, _, err := s.Users().EnsureOwner(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		expectError(t, s.Users().Remove(t.Context(), anOperator, owner.ID), ErrLastOperator)
		ada := newUser(t, s, "ada")
		grace := newUser(t, s, "grace")
		cookie := signIn(t, s, ada)
		kept := ask(t, s, grace, "", "keep me")
		complete(t, s, kept, "kept")
		b := ask(t, s, ada, "", "hello")
		if _, err := s.Documents().Put(t.Context(), ada, DocumentRecord{URI: "/a/b.md"}, []byte("text")); err != nil {
			t.Fatal(err)
		}
		expectError(t, s.Users().Remove(t.Context(), anOperator, ada.UserID()), ErrBusy)
		complete(t, s, b, "hi")
		if err := s.Users().Remove(t.Context(), anOperator, ada.UserID()); err != nil {
			t.Fatal(err)
		}
		_, err = s.SignIns().UserByCookie(t.Context(), cookie)
		expectError(t, err, ErrNotFound)
		_, err = s.Runs().Begin(t.Context(), ada, BeginRun{Text: "still here", Models: []string{"m"}})
		expectError(t, err, ErrNotFound)
		if m, err := s.Messages().List(t.Context(), grace, kept.Session.ID); err != nil || len(m) != 2 {
			t.Errorf("grace has %v, %v", m, err)
		}
		expectSound(t, s)
	})
}

// signIn goes through a link and returns the cookie.
func signIn(t *testing.T, s *Store, p identity.Principal) string {
	t.Helper()
	token, _, err := s.SignIns().CreateLink(t.Context(), anOperator, p.UserID(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cookie, u, err := s.SignIns().RedeemLink(t.Context(), token)
	if err != nil || u.ID != p.UserID() {
		t.Fatalf("got %+v, %v", u, err)
	}
	return cookie
}

func TestLinkIsGoodForOneBrowserOnly(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		token, _, err := s.SignIns().CreateLink(t.Context(), anOperator, ada.UserID(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		var won, refused atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				_, _, err := s.SignIns().RedeemLink(t.Context(), token)
				switch {
				case err == nil:
					won.Add(1)
				case errors.Is(err, ErrBadLink):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 || refused.Load() != 7 {
			t.Errorf("%d browsers got in, %d did not", won.Load(), refused.Load())
		}
		_, _, err = s.SignIns().RedeemLink(t.Context(), "made-up")
		expectError(t, err, ErrBadLink)
		_, _, err = s.SignIns().CreateLink(t.Context(), anOperator, "u_nobody", time.Hour)
		expectError(t, err, ErrNotFound)
	})
}

func TestLinksAndCookiesExpire(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		clock := newClock()
		s := open(Options{Now: clock.now})
		ada := newUser(t, s, "ada")
		token, expires, err := s.SignIns().CreateLink(t.Context(), anOperator, ada.UserID(), time.Hour)
		if err != nil || !expires.Equal(clock.now().Add(time.Hour)) {
			t.Fatalf("expires %v, %v", expires, err)
		}
		cookie := signIn(t, s, ada)
		clock.advance(time.Hour)
		_, _, err = s.SignIns().RedeemLink(t.Context(), token)
		expectError(t, err, ErrExpired)
		if _, err := s.SignIns().UserByCookie(t.Context(), cookie); err != nil {
			t.Errorf("the cookie is good for 30 days: %v", err)
		}
		clock.advance(CookieLifetime - time.Hour)
		_, err = s.SignIns().UserByCookie(t.Context(), cookie)
		expectError(t, err, ErrExpired)
	})
}

func TestRevokedCookieIsSignedOut(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(Options) *Store) {
		s := open(Options{})
		ada := newUser(t, s, "ada")
		cookie, other := signIn(t, s, ada), signIn(t, s, ada)
		if err := s.SignIns().RevokeCookie(t.Context(), ada, cookie); err != nil {
			t.Fatal(err)
		}
		_, err := s.SignIns().UserByCookie(t.Context(), cookie)
		expectError(t, err, ErrNotFound)
		if u, err := s.SignIns().UserByCookie(t.Context(), other); err != nil || u.ID != ada.UserID() {
			t.Errorf("the other browser got %+v, %v", u, err)
		}
	})
}

func TestSecretsAreNotInTheFile(t *testing.T) {
	s := openTest(t, Options{})
	ada := newUser(t, s, "ada")
	token, _, err := s.SignIns().CreateLink(t.Context(), anOperator, ada.UserID(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cookie := signIn(t, s, ada)
	file, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{token, cookie} {
		if strings.Contains(string(file), secret) {
			t.Errorf("%s stands in the file", secret)
		}
		if !strings.Contains(string(file), digest(secret)) {
			t.Errorf("the digest of %s does not stand in the file", secret)
		}
	}
}
